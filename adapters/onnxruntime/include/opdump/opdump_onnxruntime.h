/* opdump_onnxruntime.h - run an ONNX model and record what each of its operators reads and writes.
 *
 * ONNX Runtime is loaded when the first model is: see docs/onnxruntime.md for where it is looked for. The
 * rules of opdump.h hold here too; the text of a failure is in opdump_onnx_last_error() of the same thread.
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
  int32_t as_executed; /* not 0: the graph that ONNX Runtime makes of the model with all its optimizations */
  const char* path; /* of the model; or, if data is given, of what it is called in messages; NULL: no name */
  const void* data; /* the model itself; NULL: it is read from path */
  uint64_t byte_count; /* of data */
  int64_t graph_id;    /* the model id, or OPDUMP_NO_GRAPH */
  uint32_t threads;    /* of ONNX Runtime; 0: as it likes */
  uint32_t reserved;
  uint64_t memory_limit_bytes; /* of the values held at a time; 0: OPDUMP_MEMORY_LIMIT, else 1 GiB */
  void (*log)(void* user, int level, const char* line);
  void* log_user;
  const char* operator_type; /* what the dump calls the type of the operators of a model that stands for one
                                of another system; NULL: their type in ONNX */
} opdump_onnx_options;

/* What a model takes or gives. Strings and arrays live as long as the model. */
typedef struct opdump_onnx_value {
  uint32_t size;  /* sizeof(opdump_onnx_value), set by the caller */
  uint32_t dtype; /* opdump_dtype; undefined: strings, or not a tensor */
  const char* name;
  uint32_t rank;
  int32_t has_shape;
  const int64_t* shape;         /* -1: not known before it runs */
  const char* const* dim_names; /* "batch"; "" for a dimension without name */
} opdump_onnx_value;

/* "1.23.2"; NULL if there is no ONNX Runtime, and opdump_onnx_last_error() says what was tried. */
OPDUMP_API const char* opdump_onnx_runtime_version(void);

/* The text of this thread's last failure; "" if there was none. */
OPDUMP_API const char* opdump_onnx_last_error(void);

/* Sets in `options` what sessions need that record models: how values are kept alive, and the runtime's name.
 */
OPDUMP_API void opdump_onnx_prepare(opdump_options* options);

/* Loads a model. On success *model is owned by the caller: release it with opdump_onnx_unload. */
OPDUMP_API opdump_status opdump_onnx_load(const opdump_onnx_options* options, opdump_onnx_model** model);

/* NULL is allowed. A session that recorded the model may still be open: it keeps what it needs. */
OPDUMP_API void opdump_onnx_unload(opdump_onnx_model* model);

OPDUMP_API size_t opdump_onnx_input_count(const opdump_onnx_model* model);
OPDUMP_API size_t opdump_onnx_output_count(const opdump_onnx_model* model);
OPDUMP_API opdump_status opdump_onnx_input(const opdump_onnx_model* model, size_t index,
                                           opdump_onnx_value* value);
OPDUMP_API opdump_status opdump_onnx_output(const opdump_onnx_model* model, size_t index,
                                            opdump_onnx_value* value);

/* Operators of the model, those in subgraphs (bodies of If and Loop) among them: these are not seen. */
OPDUMP_API size_t opdump_onnx_operator_count(const opdump_onnx_model* model);
OPDUMP_API size_t opdump_onnx_inner_operator_count(const opdump_onnx_model* model);

/* 1 if the graph that is run has an operator `name`. */
OPDUMP_API int opdump_onnx_has_operator(const opdump_onnx_model* model, const char* name);

/* Numbers the tasks of its operators (opdump_op_info.task) from `first` on, in the order of execution; 0: the
 * recorder counts. Before the model runs. */
OPDUMP_API void opdump_onnx_number_tasks(opdump_onnx_model* model, uint64_t first);

/* The name of an operator of the graph that is run, in the order of execution; NULL: there are no more. Lives
 * as long as the model. */
OPDUMP_API const char* opdump_onnx_operator_name(const opdump_onnx_model* model, size_t index);

/* How many operands operator `name` reads (is_output 0) or writes, left-out ones among them. 0 if there is no
 * such operator. */
OPDUMP_API size_t opdump_onnx_operand_count(const opdump_onnx_model* model, const char* name, int is_output);

/* What operator `name` reads (is_output 0) or writes, before anything runs; a name of "" for what is left
 * out. ONNX Runtime is asked for what the file does not tell. Strings and arrays live until the next call. */
OPDUMP_API opdump_status opdump_onnx_operand(opdump_onnx_model* model, const char* name, int is_output,
                                             size_t index, opdump_onnx_value* value);

/* The operator that failed in the last run; NULL: none did. Lives as long as the model. */
OPDUMP_API const char* opdump_onnx_failed_operator(const opdump_onnx_model* model);

/* The index-th operator of the file that operator `name` of the graph as executed stands for. NULL: there are
 * no more, or it is one of the file itself. Lives as long as the model. */
OPDUMP_API const char* opdump_onnx_original_name(const opdump_onnx_model* model, const char* name,
                                                 size_t index);

/* Runs the model once with `inputs`, row-major, in the order of its inputs, and records into `session` (NULL:
 * only runs) in the session's current step. Fills `outputs`, as many as the model has, the `size` of each
 * set: they are valid until the next run or until it is unloaded. A tensor of strings, or what is no tensor,
 * has no data and says so in `undumped`. If an operator fails the text begins with it, and it is recorded as
 * failed. */
OPDUMP_API opdump_status opdump_onnx_run(opdump_onnx_model* model, opdump_session* session,
                                         const opdump_tensor* inputs, size_t input_count,
                                         opdump_tensor* outputs, size_t output_count);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_OPDUMP_ONNXRUNTIME_H */
