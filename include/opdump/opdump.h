/* opdump.h - record what operators read and write, from any engine, in any language.
 *
 * Rules for every function below:
 *   - Names start with opdump_. Types are opaque or plain structs of fixed-width fields.
 *   - A struct passed by pointer begins with `size`; set it to sizeof(struct). New fields are only added
 *     at the end, so an old caller works with a new library.
 *   - Pointer arguments are borrowed for the call unless the comment says otherwise.
 *   - A function that can fail returns opdump_status. opdump_last_error() returns the text to the same thread
 *     until that thread's next call. After a failure while recording, the session stops itself, reports this
 *     once through its log, and every later call is a cheap no-op: the recorded program never has to react.
 *   - No function throws, aborts, prints or changes floating-point or random state.
 *   - Any thread may call any function unless the comment says otherwise.
 *
 * Order of calls:
 *   open -> [ define_graph ] -> [ set_step -> ( define -> wants -> begin -> before_write -> RUN THE OPERATOR
 *        -> end )* ]* -> close
 *
 * An engine that executes models (graphs of its own) gives each model a number, its model id. It names each
 * model once (opdump_define_graph) and defines the model's operators with that number as their graph_id. An
 * execution of a model is a step: opdump_set_step(session, data_index), then its operators, one execution at
 * a time. Operators outside models have the graph_id OPDUMP_NO_GRAPH.
 */
#ifndef OPDUMP_OPDUMP_H
#define OPDUMP_OPDUMP_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define OPDUMP_API __declspec(dllexport)
#else
#define OPDUMP_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opdump_session opdump_session; /* one recording */
typedef struct opdump_op opdump_op;           /* one operator of the program; lives as long as its session */
typedef struct opdump_call opdump_call;       /* one execution of it, between begin and end */

typedef enum opdump_status {
  OPDUMP_OK = 0,
  OPDUMP_ERROR_CONFIG = 1,    /* wrong configuration; the text starts with file:line:column */
  OPDUMP_ERROR_IO = 2,        /* an error of the operating system: permission, disk full */
  OPDUMP_ERROR_ARGUMENT = 3,  /* a NULL or a wrong size */
  OPDUMP_ERROR_INTERNAL = 4,  /* a bug of this library */
  OPDUMP_ERROR_EXISTS = 5,    /* the folder already has a dump, or another program is recording there */
  OPDUMP_ERROR_NOT_FOUND = 6, /* reading: no such path, or nothing in it that is recognised */
  OPDUMP_ERROR_CORRUPT = 7    /* reading: bytes that break the rules of their format */
} opdump_status;

typedef enum opdump_dtype {
  OPDUMP_DTYPE_UNDEFINED = 0,
  OPDUMP_BOOL = 1,
  OPDUMP_INT8 = 2,
  OPDUMP_INT16 = 3,
  OPDUMP_INT32 = 4,
  OPDUMP_INT64 = 5,
  OPDUMP_UINT8 = 6,
  OPDUMP_UINT16 = 7,
  OPDUMP_UINT32 = 8,
  OPDUMP_UINT64 = 9,
  OPDUMP_FLOAT16 = 10,
  OPDUMP_BFLOAT16 = 11,
  OPDUMP_FLOAT32 = 12,
  OPDUMP_FLOAT64 = 13,
  OPDUMP_COMPLEX64 = 14,
  OPDUMP_COMPLEX128 = 15,
  OPDUMP_INT4 = 16,  /* two to a byte, low nibble first */
  OPDUMP_UINT1 = 17, /* eight to a byte, most significant bit first */
  OPDUMP_FLOAT8_E4M3 = 18,
  OPDUMP_FLOAT8_E5M2 = 19
} opdump_dtype;

/* What a recording does with a dump that its folder already has. A dump by another process of the same run
 * does not count. A run is identified by the environment variable OPDUMP_RUN_ID, which the first recording
 * sets if it is not set. */
typedef enum opdump_existing {
  OPDUMP_EXISTING_DEFAULT = 0, /* the value of the variable OPDUMP_EXISTING ("refuse", ...), else refuse */
  OPDUMP_EXISTING_REFUSE = 1,  /* opdump_open fails with OPDUMP_ERROR_EXISTS */
  OPDUMP_EXISTING_REPLACE = 2, /* removes the dump of this rank and device; files of others stay */
  OPDUMP_EXISTING_APPEND = 3,  /* adds the recording to the dump */
  OPDUMP_EXISTING_ORIGINAL = 4 /* the value of the variable, else append as the original tools do, and log */
} opdump_existing;

typedef enum opdump_phase { OPDUMP_FORWARD = 0, OPDUMP_BACKWARD = 1, OPDUMP_OPTIMIZER = 2 } opdump_phase;

/* The result of opdump_wants(); bits. */
typedef enum opdump_want {
  OPDUMP_WANTS_CALL = 1,      /* opdump_begin and opdump_end */
  OPDUMP_WANTS_ARGUMENTS = 2, /* also opdump_set_arguments between the two */
  OPDUMP_WANTS_INPUTS = 4,    /* the data of the inputs; without this bit the engine need not fetch it */
  OPDUMP_WANTS_OUTPUTS = 8    /* the data of the outputs */
} opdump_want;

/* The result of opdump_device_statistics(); bits. */
typedef enum opdump_statistic {
  OPDUMP_STATISTIC_MAX = 1,
  OPDUMP_STATISTIC_MIN = 2,
  OPDUMP_STATISTIC_AVG = 4,
  OPDUMP_STATISTIC_L2NORM = 8,
  OPDUMP_STATISTIC_LOW = 16 /* avg and l2norm in the tensor's own type; without this bit in float32 */
} opdump_statistic;

/* The argument `enabled` of opdump_set_dump(); bits. */
typedef enum opdump_flag {
  OPDUMP_FLAG_ON = 1,
  /* The user selected an object rather than this name. The call then does not override what the user says
   * about the name, and a name without operators is not reported. */
  OPDUMP_FLAG_UNNAMED = 2
} opdump_flag;

/* What a tensor from outside the graph is. */
typedef enum opdump_role {
  OPDUMP_INPUT = 0, /* an input from the user */
  OPDUMP_WEIGHT = 1,
  OPDUMP_CONSTANT = 2 /* a number of the program that became a tensor */
} opdump_role;

typedef enum opdump_argument_kind {
  OPDUMP_ARGUMENT_NONE = 0,
  OPDUMP_ARGUMENT_BOOL = 1,  /* integer */
  OPDUMP_ARGUMENT_INT = 2,   /* integer */
  OPDUMP_ARGUMENT_FLOAT = 3, /* floating */
  OPDUMP_ARGUMENT_STRING =
      4, /* text; floating: infinite or NaN if the text stands for a value that has such a number */
  OPDUMP_ARGUMENT_TENSOR = 5, /* integer: its operand index; text: not NULL if the tensor is a number of the
                                 program, which the text spells */
  OPDUMP_ARGUMENT_LIST = 6,   /* items, count */
  /* A graph that the operator executes ("then_branch"), for graph files. Its items are lists: the names of
   * its inputs, of its constants and of its outputs; then for each operator its type, its name, a list of the
   * names that it reads ("" for an omitted one), a list of the names that it writes, and a list of its
   * arguments. */
  OPDUMP_ARGUMENT_GRAPH = 7,
  /* No argument: `text` is the function that the call executes, with its overload: "aten::add.Tensor". */
  OPDUMP_ARGUMENT_FUNCTION = 8,
  /* No argument: `name` and `text` are state of the engine that the result depends on. "autocast" is the type
   * to which inputs are converted, "seed" and "generator" are of the random numbers that the call draws: two
   * generators with equal texts give equal numbers. */
  OPDUMP_ARGUMENT_STATE = 9
} opdump_argument_kind;

/* opdump_op_info.graph_id of an operator outside models. */
#define OPDUMP_NO_GRAPH (-1)

typedef enum opdump_log_level {
  OPDUMP_LOG_INFO = 0,
  OPDUMP_LOG_WARNING = 1,
  OPDUMP_LOG_ERROR = 2
} opdump_log_level;

/* A part of a file, in writing order. Parts of other operators' files may come in between. */
typedef struct opdump_file_chunk {
  uint32_t size;    /* sizeof(opdump_file_chunk) */
  uint32_t is_last; /* 1: the file is complete with this chunk */
  const char* path; /* absolute: where the file would be */
  int64_t offset;   /* of the first byte in the file; -1: append */
  const void* data;
  uint64_t byte_count;
} opdump_file_chunk;

/* How to open a session. Zero in any field means the default. */
typedef struct opdump_options {
  uint32_t size; /* sizeof(opdump_options) */
  uint32_t rank; /* written to rank_{rank} */
  /* A configuration file in any supported language, recognised by its content. If this and config_text are
   * NULL, the configuration is that of `opdump run`; its messages reach `opdump run` unless `log` is set. */
  const char* config_path;
  const char* dialect; /* its language, if the content is ambiguous: "mindspore", "acl" */
  const char* mode; /* the target machine: "o0", "o2", "cpu", "gpu"; NULL: derived from the configuration */
  const char* runtime; /* engine and version, for the status file: "torch 1.13.0" */
  const char* process; /* this process, if others record into the same rank: "worker0"; NULL: the main one */
  int32_t strict;      /* reject what the original tool rejects against its documentation */
  int32_t device_id;   /* checked against the plan's device list */
  uint64_t memory_limit_bytes; /* the recorder's limit; 0: OPDUMP_MEMORY_LIMIT, else 1 GiB */
  uint32_t threads;            /* of the pipeline; 0: a share of the cores */
  /* Not 0: the engine reports the graph. It sets opdump_tensor.block or value, name and role, and calls
   * opdump_wants() for every operator that it runs in a selected step. The session then detects which steps
   * executed the same operators, numbers these graphs, and ignores opdump_op_info.graph_id. */
  uint32_t reports_graph;
  void (*log)(void* user, int level,
              const char* line); /* one line, without line feed; NULL: no log; called from any thread */
  void* log_user;
  /* Keep the memory of opdump_tensor.owner alive (retain) and release it (release). release may run on a
   * thread of the recorder and must not take locks that a thread inside an opdump call can hold. NULL:
   * nothing is borrowed. */
  void (*retain)(void* owner);
  void (*release)(void* owner);
  /* Not NULL: the text of the configuration, for engines that generate it. Messages then use config_path as
   * its name. */
  const char* config_text;
  /* Not NULL: receives the files of operators; nothing is written to the disk. Returns 0; any other number
   * ends the recording. One call at a time, from any thread. Only for plans of the dialect "acl". */
  int (*write_file)(void* user, const opdump_file_chunk* chunk);
  void* write_file_user;
  uint32_t existing; /* opdump_existing */
  /* Not 0: a rank or device_id of 0 is replaced by the launcher's environment variables: RANK_ID, RANK,
   * OMPI_COMM_WORLD_RANK, SLURM_PROCID; DEVICE_ID, LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK, SLURM_LOCALID. The
   * first that is set applies. */
  uint32_t is_launched;
  /* Not 0, or if the environment variable OPDUMP_CHECK_READS is neither empty nor 0: every recorded tensor is
   * hashed. A tensor that is read with other bytes than before, but with the same content number, causes a
   * warning, and its new bytes are recorded. Nothing is borrowed. */
  uint32_t check_reads;
  /* For opdump_tensor.is_late: returns 0 once the values are in the memory of `owner`, another number if they
   * will never be. Called on any thread, also several times. NULL: no tensor is late. */
  int (*wait)(void* owner);
} opdump_options;

/* One input or output of an operator. The caller owns the memory. */
typedef struct opdump_tensor {
  uint32_t size;          /* sizeof(opdump_tensor) */
  uint32_t dtype;         /* opdump_dtype */
  uint32_t rank;          /* 0 for a scalar */
  uint32_t index;         /* operand index; gaps are allowed */
  const int64_t* shape;   /* rank elements */
  const int64_t* strides; /* rank elements, counted in elements; NULL means row-major */
  const void* data;       /* element 0; host memory */
  /* Equal non-zero contents promise equal bytes in the whole block of memory that holds `data`. The recorder
   * may then reuse earlier results. Give a block a new number whenever it may have changed. 0: unknown, never
   * reused. */
  uint64_t content;
  /* Not NULL: the recorder may read the block that holds `data` after the call, as long as it retains the
   * owner. If `content` is not 0, call opdump_before_write() before anything writes to the block. NULL: the
   * recorder does not use the data after the call returns. */
  void* owner;
  /* Not NULL: the reason why the tensor is not dumped as an operand ("sparse", "view", "uninitialised").
   * `data` may still be set, for the parameter that `name` refers to. */
  const char* undumped;
  /* Identity of the value in the graph: an input comes from the operator with an output of the same value. 0:
   * unknown; then `content` decides. */
  uint64_t value;
  const char* name; /* "conv1.weight", "x", or NULL */
  uint32_t role;    /* opdump_role */
  uint32_t format;  /* the meaning of its dimensions: 1 + CANN's aclFormat (NCHW 1, NHWC 2, ND 3, NCDHW 31);
                       0: NCHW for four dimensions, else ND */
  /* Not 0: `shape` is the shape in a device's layout (NC1HWC0 4, FRACTAL_Z 5, FRACTAL_NZ 30, NDC1HWC0 33 in
   * `format`), and original_shape is the shape in the program. Containers store both. */
  uint32_t original_rank;
  uint32_t reserved;
  const int64_t* original_shape; /* original_rank elements */
  /* Not 0: the number of the memory block that holds the elements, unique during the block's lifetime.
   * block_offset is the position of element 0 in it, in bytes. An input then comes from the operator that
   * last wrote its elements, and `value` is ignored. */
  uint64_t block;
  int64_t block_offset;
  /* Not 0: the values are on their way to `data`, from a device. The recorder calls opdump_options.wait with
   * the owner, which must not be NULL, before it reads them, mostly on a thread of its own. Nothing else is
   * written to this memory. */
  uint32_t is_late;
  uint32_t reserved_late;
  /* Not NULL: what opdump_device_statistics() asked for, computed by the engine: max, min, avg, l2norm, in
   * this order; the others may be anything. `data` is not read and may be NULL. If `is_late` is not 0, these
   * numbers are on their way, not the data. Ignored if opdump_device_statistics() is 0. */
  const double* statistics;
  /* Not 0: a number that `block` has until something writes to it, and another one after each write. With it
   * the recorder knows who made the elements. 0: `content` says it. */
  uint64_t version;
} opdump_tensor;

/* An argument of an operator, also a tensor, in the order of the operator's schema. Names and texts are
 * borrowed for the call. */
typedef struct opdump_argument {
  uint32_t size;    /* sizeof(opdump_argument) */
  uint32_t kind;    /* opdump_argument_kind */
  const char* name; /* "stride"; NULL for an item of a list */
  int64_t integer;
  double floating;
  const char* text;
  const struct opdump_argument* items;
  size_t count;
} opdump_argument;

/* A process's place among those that hold tensors together: a mesh of several dimensions. */
typedef struct opdump_mesh {
  uint32_t size;        /* sizeof(opdump_mesh) */
  uint32_t rank;        /* number of dimensions */
  const int64_t* sizes; /* of the dimensions */
  const int64_t* place; /* where this process is in each of them */
} opdump_mesh;

/* An operand that is a part of a tensor which the processes of a mesh hold together. */
typedef struct opdump_part {
  uint32_t size;      /* sizeof(opdump_part) */
  uint32_t is_output; /* 0: an input */
  uint32_t index;     /* operand index */
  uint32_t reserved;
  /* For each dimension of the mesh, with blanks between: "replicate", "sum" (each process has a term),
   * "shard:1" (axis 1 is cut as torch.chunk cuts it), "shard:1:3" (each of 3 blocks of axis 1 is cut), or
   * "any" (not known). */
  const char* placements;
} opdump_part;

/* An operator, the same one in every step. (graph_id, type, name) identifies it. */
typedef struct opdump_op_info {
  uint32_t size;           /* sizeof(opdump_op_info) */
  uint32_t phase;          /* opdump_phase */
  const char* type;        /* "convolution" */
  const char* name;        /* full scoped name: "Default/conv1-Conv2d/convolution-op0" */
  const char* source_file; /* the line of the user's program that calls it; NULL if unknown */
  int32_t source_line;
  int32_t reserved;
  int64_t graph_id; /* the model id, or OPDUMP_NO_GRAPH */
  int64_t stream;
  uint64_t task; /* the task number in file names; 0: the recorder counts */
  /* The operators of the user's model that this operator replaces; plans may select it by these names, too.
   * NULL: it is an operator of the model itself. Not NULL but empty: the engine added it. */
  const char* const* original_names;
  size_t original_count;
  /* The calls of the program that led to it, innermost first, each as "file:line:function"; the function may
   * be empty. NULL if unknown. */
  const char* const* frames;
  size_t frame_count;
  /* The module of the user's program that it belongs to, "layer1.0.conv1", where the name does not say it.
   * NULL otherwise. */
  const char* module;
} opdump_op_info;

/* A model. */
typedef struct opdump_graph_info {
  uint32_t size; /* sizeof(opdump_graph_info) */
  uint32_t reserved;
  int64_t graph_id;        /* the model id */
  const char* name;        /* the outermost name inside the model: "resnet50" */
  const char* file_name;   /* the name of the model's file, without directory and suffix; NULL: from memory */
  const uint64_t* outputs; /* its outputs, as opdump_tensor.value; NULL: outputs that no operator reads */
  size_t output_count;
} opdump_graph_info;

/* What a configuration made of options records; bits. */
typedef enum opdump_content { OPDUMP_CONTENT_TENSORS = 1, OPDUMP_CONTENT_STATISTICS = 2 } opdump_content;

/* A recording without a configuration file. NULL and 0 mean the default. */
typedef struct opdump_request {
  uint32_t size;      /* sizeof(opdump_request) */
  uint32_t content;   /* bits of opdump_content; default: tensors */
  const char* output; /* the folder to record into; required */
  const char* steps;  /* "0,10-20" or "all"; default: "0" */
  const char* ops;    /* a regular expression: only operators of these types; default: all */
  const char* module; /* a regular expression: only operators of these modules; default: all */
  const char* budget; /* the most that is written, "20G" or "free"; default: "auto" */
} opdump_request;

typedef enum opdump_step_end {
  OPDUMP_STEP_WHOLE = 0,
  OPDUMP_STEP_TAIL = 1,
  OPDUMP_STEP_CUT = 2
} opdump_step_end;

/* "0.1.0" */
OPDUMP_API const char* opdump_version(void);

/* The text of this thread's last failure; "" if there was none. Valid until this thread's next call. */
OPDUMP_API const char* opdump_last_error(void);

/* The error code that the original tool of the configuration language has for this thread's last failure; 0
 * if it has none. For "acl" (set opdump_options.dialect): 100009 a rule of the language is broken, and the
 * text begins with EP0001 to EP0005; 100003 no file, or one larger than 10 MiB; 100006 more than 10 nested
 * braces or brackets; 500000 the output cannot be created. */
OPDUMP_API int opdump_last_error_code(void);

/* Makes a configuration of a request, for opdump_options.config_text. *text is valid until the calling thread
 * calls this function again. Fails with OPDUMP_ERROR_CONFIG if a value is wrong, or the disk has less room
 * than the budget. */
OPDUMP_API opdump_status opdump_make_config(const opdump_request* request, const char** text);

/* Writes the shortest text that reads back as `number` into `text`, which has room for 32 bytes: "4", "0.5",
 * "1e-05". For the text of OPDUMP_ARGUMENT_TENSOR; old compilers have no such function. */
OPDUMP_API void opdump_spell_number(double number, char* text);

/* Reads the configuration, creates the output directory and starts the pipeline. On success the caller owns
 * *session and releases it with opdump_close. Step 0 is current. A valid configuration that dumps nothing
 * ("acl" without an object "dump", or with nothing to dump in it) returns OPDUMP_OK and sets *session to
 * NULL; so does a program without a configuration that `opdump run` has not started. Every function below
 * treats NULL as a session that wants nothing. */
OPDUMP_API opdump_status opdump_open(const opdump_options* options, opdump_session** session);

/* Waits until everything is on disk, writes opdump_status.json, logs a summary and frees the session. No
 * other call may be in progress. NULL is allowed. Fails if recording had stopped (disk full, ...). */
OPDUMP_API opdump_status opdump_close(opdump_session* session);

/* Makes `step` current (steps count from 0) and returns 1 if the plan selects it, else 0. In a step that is
 * not selected the engine need not call before_write: when this function returns 0, nothing is borrowed any
 * more. Do not call it while another thread is between begin and end, unless those calls may count for either
 * step. */
OPDUMP_API int opdump_set_step(opdump_session* session, int64_t step);

/* 1 if `step` is selected. An engine may remove its hooks until then. */
OPDUMP_API int opdump_selects_step(const opdump_session* session, int64_t step);

/* 1 if the plan saves the inputs of operators that fail. The engine then also passes the data of operators
 * that only make views, because they can fail, too. Nothing is kept of operators that succeed. */
OPDUMP_API int opdump_keeps_failures(const opdump_session* session);

/* The statistics that the plan wants to be computed where the tensors are: bits of opdump_statistic; 0: none.
 * An engine whose tensors are on a device then need not fetch them: see opdump_tensor.statistics. */
OPDUMP_API int opdump_device_statistics(const opdump_session* session);

/* Names a model before its operators are defined. Plans select models by name, and directories have these
 * names. For an engine that describes graphs (reports_graph), one call names all of them, whatever the
 * graph_id. */
OPDUMP_API void opdump_define_graph(opdump_session* session, const opdump_graph_info* graph);

/* Returns the operator of this type and name; the first call defines it. A later call with another line says
 * that the program calls it from there from the current step on. NULL only if memory ran out or recording has
 * stopped. */
OPDUMP_API const opdump_op* opdump_define(opdump_session* session, const opdump_op_info* info);

/* Returns what the session wants of this operator in the current step: bits of opdump_want, 0 for nothing.
 * O(1), no allocation: ask before gathering tensors. A tensor whose data is not wanted may have data NULL or
 * be omitted. A NULL session or operator wants nothing. */
OPDUMP_API int opdump_wants(const opdump_session* session, const opdump_op* op);

/* Blocks until the recorder no longer needs the blocks of memory with these contents. Call it after begin,
 * before an operator writes to them, even if the operator is not selected. Returns at once if nothing is
 * pending. */
OPDUMP_API void opdump_before_write(opdump_session* session, const uint64_t* contents, size_t count);

/* The same, before a write to unknown memory. */
OPDUMP_API void opdump_before_any_write(opdump_session* session);

/* Records the inputs, before the operator runs. NULL if there is nothing to record. May block while the
 * memory limit is reached. */
OPDUMP_API opdump_call* opdump_begin(opdump_session* session, const opdump_op* op,
                                     const opdump_tensor* inputs, size_t count);

/* Records the arguments of a call, if opdump_wants() asked for them. */
OPDUMP_API void opdump_set_arguments(opdump_session* session, opdump_call* call,
                                     const opdump_argument* arguments, size_t count);

/* Records which parts of tensors the operands of a recorded call of the current step are. Also after
 * opdump_end: what its outputs are may only be known then. A later call for the operator replaces it, also in
 * later steps. */
OPDUMP_API void opdump_set_parts(opdump_session* session, const opdump_op* op, const opdump_mesh* mesh,
                                 const opdump_part* parts, size_t count);

/* The operator has returned, but its outputs do not exist yet, as with a collective between processes.
 * Records which outputs these will be, and reads no data. Call opdump_end() when they exist, on any
 * thread. */
OPDUMP_API void opdump_returned(opdump_session* session, opdump_call* call, const opdump_tensor* outputs,
                                size_t count);

/* Records the outputs, after the operator ran, and ends the call. `failed` not 0: the operator failed and has
 * no outputs. */
OPDUMP_API void opdump_end(opdump_session* session, opdump_call* call, const opdump_tensor* outputs,
                           size_t count, int failed);

/* For plans that record flagged operators only (dump_mode 2): flags the operator `name`, or all operators of
 * the scope `name` ("Default/conv1-Conv2d"), with their gradients, or all operators of the type `name`
 * ("relu"). The longest matching name decides, a type before a scope. `enabled`: bits of opdump_flag. Names
 * without an operator are reported at the end. */
OPDUMP_API void opdump_set_dump(opdump_session* session, const char* name, int enabled);

/* Call right before opdump_close to qualify the current step. OPDUMP_STEP_TAIL: not a step, but what ran
 * after the last one. OPDUMP_STEP_CUT: the program was stopped within it. The status file records this, and
 * comparisons take it into account. Without this call it is a normal step. */
OPDUMP_API void opdump_mark_step(opdump_session* session, opdump_step_end end);

/* Raises an alarm, for plans that watch the program ("watch" in "opdump_settings"): what comes after this
 * step is not recorded. `kind` says who raises it: "alarm" and "spike" are the program, "exception" one that
 * is about to end it; `text` says why. Only the first alarm counts. Other plans ignore it. */
OPDUMP_API void opdump_raise_alarm(opdump_session* session, const char* kind, const char* text);

/* Adds to the environment in the status file what explains that another run computes other numbers: "seed"
 * and "0". The last value of a name counts. */
OPDUMP_API void opdump_describe_run(opdump_session* session, const char* name, const char* value);

/* A `reason` for opdump_report_unseen that `opdump compare` knows: a collective whose results are in the dump
 * where an operator reads them, so that ranks that hold parts of a tensor can be compared without it. */
#define OPDUMP_UNSEEN_COLLECTIVE "torch runs it without an operator"

/* A `what` that it knows: the gradients are in the dump where an operator reads them. */
#define OPDUMP_UNSEEN_BACKWARD "backward pass of compiled code"

/* Reports that something ran unobserved ("torch.compile graph"): recorded as a loss, logged once. */
OPDUMP_API void opdump_report_unseen(opdump_session* session, const char* what, const char* reason);

/* Waits until everything begun so far is on disk. Fails if recording has stopped. */
OPDUMP_API opdump_status opdump_flush(opdump_session* session);

/* Like opdump_flush, and the status file states that nothing is missing if the process ends now. For a
 * process that waits for work and may be ended from outside. The next opdump_begin reverts the statement. */
OPDUMP_API opdump_status opdump_rest(opdump_session* session);

/* The absolute directory of the plan, which contains everything recorded. "" for NULL. Valid as long as the
 * session. */
OPDUMP_API const char* opdump_directory(const opdump_session* session);

/* In a child made by fork(): drops the parent's session without touching its files. The same of a session of
 * this process that rests: its status stays as it is. The pointer is then invalid. */
OPDUMP_API void opdump_abandon(opdump_session* session);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_OPDUMP_H */
