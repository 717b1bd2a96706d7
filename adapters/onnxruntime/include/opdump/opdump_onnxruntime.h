/* opdump_onnxruntime.h - run an ONNX model and record what each of its operators reads and writes.
 *
 * The first model loads ONNX Runtime; docs/onnxruntime.md lists the places that are searched. The rules of
 * opdump.h apply. opdump_onnx_last_error() returns the text of a failure to the same thread.
 *
 * Order of calls:
 *   opdump_onnx_prepare -> opdump_open -> opdump_onnx_load -> ( opdump_set_step -> opdump_onnx_run )*
 *        -> opdump_onnx_unload -> opdump_close
 */
#ifndef OPDUMP_OPDUMP_ONNXRUNTIME_H
#define OPDUMP_OPDUMP_ONNXRUNTIME_H

#include "opdump/opdump.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opdump_onnx_model opdump_onnx_model;

/* How to load a model. Zero in any field means the default. */
typedef struct opdump_onnx_options {
  uint32_t size;       /* sizeof(opdump_onnx_options) */
  int32_t as_executed; /* not 0: the graph that ONNX Runtime executes, with all its optimizations */
  const char* path;    /* the model's file; if data is set, only its name for messages; NULL: no name */
  const void* data;    /* the model itself; NULL: read path */
  uint64_t byte_count; /* of data */
  int64_t graph_id;    /* the model id, or OPDUMP_NO_GRAPH */
  uint32_t threads;    /* of ONNX Runtime; 0: its default */
  uint32_t reserved;
  uint64_t memory_limit_bytes; /* for the values held at a time; 0: OPDUMP_MEMORY_LIMIT, else 1 GiB */
  void (*log)(void* user, int level, const char* line);
  void* log_user;
  const char* operator_type; /* what the dump calls the type of the operators of a model that stands for one
                                of another system; NULL: their type in ONNX */
} opdump_onnx_options;

/* An input or output of a model. Strings and arrays live as long as the model. */
typedef struct opdump_onnx_value {
  uint32_t size;  /* sizeof(opdump_onnx_value), set by the caller */
  uint32_t dtype; /* opdump_dtype; undefined: strings, or not a tensor */
  const char* name;
  uint32_t rank;
  int32_t has_shape;
  const int64_t* shape;         /* -1: unknown before the model runs */
  const char* const* dim_names; /* "batch"; "" for a dimension without name */
} opdump_onnx_value;

/* "1.23.2"; NULL if ONNX Runtime was not found; opdump_onnx_last_error() then lists the places searched. */
OPDUMP_API const char* opdump_onnx_runtime_version(void);

/* The text of this thread's last failure; "" if there was none. */
OPDUMP_API const char* opdump_onnx_last_error(void);

/* Sets the fields of `options` that sessions need to record models: how to keep values alive, and the
 * runtime's name. */
OPDUMP_API void opdump_onnx_prepare(opdump_options* options);

/* Loads a model. On success the caller owns *model and releases it with opdump_onnx_unload. */
OPDUMP_API opdump_status opdump_onnx_load(const opdump_onnx_options* options, opdump_onnx_model** model);

/* NULL is allowed. A session that recorded the model may still be open: it keeps the values that it needs. */
OPDUMP_API void opdump_onnx_unload(opdump_onnx_model* model);

OPDUMP_API size_t opdump_onnx_input_count(const opdump_onnx_model* model);
OPDUMP_API size_t opdump_onnx_output_count(const opdump_onnx_model* model);
OPDUMP_API opdump_status opdump_onnx_input(const opdump_onnx_model* model, size_t index,
                                           opdump_onnx_value* value);
OPDUMP_API opdump_status opdump_onnx_output(const opdump_onnx_model* model, size_t index,
                                            opdump_onnx_value* value);

/* The number of the model's operators, and of those in subgraphs (bodies of If and Loop), which are not
 * recorded. */
OPDUMP_API size_t opdump_onnx_operator_count(const opdump_onnx_model* model);
OPDUMP_API size_t opdump_onnx_inner_operator_count(const opdump_onnx_model* model);

/* 1 if the executed graph has an operator `name`. */
OPDUMP_API int opdump_onnx_has_operator(const opdump_onnx_model* model, const char* name);

/* Numbers the tasks of its operators (opdump_op_info.task) from `first` on, in the order of execution; 0: the
 * recorder counts. Call it before the model runs. */
OPDUMP_API void opdump_onnx_number_tasks(opdump_onnx_model* model, uint64_t first);

/* The name of an operator of the executed graph, by the order of execution; NULL past the end. Lives as long
 * as the model. */
OPDUMP_API const char* opdump_onnx_operator_name(const opdump_onnx_model* model, size_t index);

/* The number of operands that operator `name` reads (is_output 0) or writes, including omitted ones. 0 if
 * there is no such operator. */
OPDUMP_API size_t opdump_onnx_operand_count(const opdump_onnx_model* model, const char* name, int is_output);

/* Describes an operand that operator `name` reads (is_output 0) or writes, before anything runs. An omitted
 * operand has the name "". ONNX Runtime infers what the file does not contain. Strings and arrays live until
 * the next call. */
OPDUMP_API opdump_status opdump_onnx_operand(opdump_onnx_model* model, const char* name, int is_output,
                                             size_t index, opdump_onnx_value* value);

/* The operator that failed in the last run; NULL if none failed. Lives as long as the model. */
OPDUMP_API const char* opdump_onnx_failed_operator(const opdump_onnx_model* model);

/* The index-th operator of the file that operator `name` of the executed graph replaces. NULL past the end,
 * and for an operator of the file itself. Lives as long as the model. */
OPDUMP_API const char* opdump_onnx_original_name(const opdump_onnx_model* model, const char* name,
                                                 size_t index);

/* Runs the model once with `inputs`, row-major, in the order of its inputs, and records into the current step
 * of `session` (NULL: runs without recording). Fills `outputs`, one for each output of the model; the caller
 * sets the `size` of each. They are valid until the next run or until the model is unloaded. A value that is
 * not a tensor of numbers has no data and a reason in `undumped`. If an operator fails, the text begins with
 * its name, and the operator is recorded as failed. */
OPDUMP_API opdump_status opdump_onnx_run(opdump_onnx_model* model, opdump_session* session,
                                         const opdump_tensor* inputs, size_t input_count,
                                         opdump_tensor* outputs, size_t output_count);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_OPDUMP_ONNXRUNTIME_H */
