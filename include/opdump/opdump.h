/* opdump.h - record what operators read and write, from any engine, in any language.
 *
 * Rules that hold for every function below:
 *   - Names start with opdump_; types are opaque or plain structs of fixed-width fields.
 *   - A struct passed by pointer begins with `size`; set it to sizeof(struct). New fields are only ever added
 * at the end, so an old caller keeps working with a new library.
 *   - Pointers passed in are borrowed for the call unless the comment says otherwise.
 *   - A function that can fail returns opdump_status; the text is in opdump_last_error() of the same thread,
 * until that thread's next call. After a failure while recording, the session stops by itself, says so once
 * through its log, and every later call is a cheap no-op: the watched program never has to react.
 *   - No function throws, aborts, prints or changes floating-point or random state.
 *   - Any function may be called from any thread unless the comment says otherwise.
 *
 * Order of calls:
 *   open -> [ define_graph ] -> [ set_step -> ( define -> wants -> begin -> before_write -> RUN THE OPERATOR
 *        -> end )* ]* -> close
 *
 * An engine that executes models (graphs of its own) gives each a number, its model id, tells its names once
 * (opdump_define_graph) and defines the operators of each with that number as their graph_id. An execution of
 * a model is a step: opdump_set_step(session, data_index), the operators, one execution at a time. Operators
 * that belong to no model have the graph_id OPDUMP_NO_GRAPH.
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
  OPDUMP_ERROR_CONFIG = 1,   /* the configuration file; the text starts with file:line:column */
  OPDUMP_ERROR_IO = 2,       /* the system refused: permission, disk full */
  OPDUMP_ERROR_ARGUMENT = 3, /* a NULL or a wrong size */
  OPDUMP_ERROR_INTERNAL = 4, /* a bug of this library */
  OPDUMP_ERROR_EXISTS = 5    /* the folder has a dump already, or another program is recording there */
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

/* What a recording does with a dump that is in its folder already. A dump of the same run, by another of its
 * processes, is none: a run has an id, OPDUMP_RUN_ID in the environment, which the first recording sets if
 * nobody has. */
typedef enum opdump_existing {
  OPDUMP_EXISTING_DEFAULT = 0, /* as the variable OPDUMP_EXISTING says ("refuse", ...), else refuse */
  OPDUMP_EXISTING_REFUSE = 1,  /* opdump_open fails with OPDUMP_ERROR_EXISTS */
  OPDUMP_EXISTING_REPLACE = 2, /* the dump of this rank and device is removed; files of others stay */
  OPDUMP_EXISTING_APPEND = 3,  /* the recording is added to it */
  OPDUMP_EXISTING_ORIGINAL = 4 /* as the variable says, else added as the originals do, which is logged */
} opdump_existing;

typedef enum opdump_phase { OPDUMP_FORWARD = 0, OPDUMP_BACKWARD = 1, OPDUMP_OPTIMIZER = 2 } opdump_phase;

/* What opdump_wants() asks for; bits. */
typedef enum opdump_want {
  OPDUMP_WANTS_CALL = 1,      /* opdump_begin and opdump_end */
  OPDUMP_WANTS_ARGUMENTS = 2, /* opdump_set_arguments too, between the two */
  OPDUMP_WANTS_INPUTS = 4,    /* the data of the inputs is looked at; else the engine need not fetch it */
  OPDUMP_WANTS_OUTPUTS = 8    /* that of the outputs */
} opdump_want;

/* What opdump_set_dump() takes; bits. */
typedef enum opdump_flag {
  OPDUMP_FLAG_ON = 1,
  /* The user named no name but something that bears it: it does not replace what he says of the name, and
   * nobody misses its operators. */
  OPDUMP_FLAG_UNNAMED = 2
} opdump_flag;

/* What a tensor is to the graph it enters from outside. */
typedef enum opdump_role {
  OPDUMP_INPUT = 0, /* of the user */
  OPDUMP_WEIGHT = 1,
  OPDUMP_CONSTANT = 2 /* a number of the program that was made a tensor */
} opdump_role;

typedef enum opdump_argument_kind {
  OPDUMP_ARGUMENT_NONE = 0,
  OPDUMP_ARGUMENT_BOOL = 1,   /* integer */
  OPDUMP_ARGUMENT_INT = 2,    /* integer */
  OPDUMP_ARGUMENT_FLOAT = 3,  /* floating */
  OPDUMP_ARGUMENT_STRING = 4, /* text */
  OPDUMP_ARGUMENT_TENSOR = 5, /* integer: its operand index */
  OPDUMP_ARGUMENT_LIST = 6,   /* items, count */
  /* A graph that the operator executes ("then_branch"), for graph files. Its items are lists: names of what
   * it takes, of its constants, of what it gives; then for each of its operators the type, the name, a list
   * of the names it reads ("" for one left out), one of those it makes, one of its arguments. */
  OPDUMP_ARGUMENT_GRAPH = 7
} opdump_argument_kind;

/* Of opdump_op_info.graph_id: an operator of no model. */
#define OPDUMP_NO_GRAPH (-1)

typedef enum opdump_log_level { OPDUMP_INFO = 0, OPDUMP_WARNING = 1, OPDUMP_ERROR = 2 } opdump_log_level;

/* A part of a file, in the order in which the file is made; files of other operators may come in between. */
typedef struct opdump_file_chunk {
  uint32_t size;    /* sizeof(opdump_file_chunk) */
  uint32_t is_last; /* 1: the file is complete with this chunk */
  const char* path; /* absolute: where the file would lie */
  int64_t offset;   /* of the first byte in the file; -1: it is added to the end */
  const void* data;
  uint64_t byte_count;
} opdump_file_chunk;

/* How to open a session. Zero in any field means the default. */
typedef struct opdump_options {
  uint32_t size;           /* sizeof(opdump_options) */
  uint32_t rank;           /* written to rank_{rank} */
  const char* config_path; /* a configuration file in any supported language, told by its content; required,
                              unless there is config_text */
  const char* dialect;     /* its language, if content does not tell: "mindspore", "acl" */
  const char* mode;    /* the machine it is written for: "o0", "o2", "cpu", "gpu"; NULL follows the config */
  const char* runtime; /* engine and version, for the status file: "torch 1.13.0" */
  const char* process; /* this process, if others record into the same rank: "worker0"; NULL: the main one */
  int32_t strict;      /* refuse what the original refuses though its documentation allows it */
  int32_t device_id;   /* checked against the plan's device list */
  uint64_t memory_limit_bytes; /* held by the recorder at most; 0: OPDUMP_MEMORY_LIMIT, else 1 GiB */
  uint32_t threads;            /* of the pipeline; 0: a share of the cores */
  /* Not 0: the engine tells the graph. It sets opdump_tensor.block or value, name and role, and asks
   * opdump_wants() for every operator it runs in a selected step. The session then finds out which steps
   * executed the same operators, numbers these graphs, and takes no notice of opdump_op_info.graph_id. */
  uint32_t tells_graph;
  void (*log)(void* user, int level,
              const char* line); /* one line, no line feed; NULL is silence; any thread */
  void* log_user;
  /* Keep the memory behind opdump_tensor.owner alive (retain) and let go of it (release); release may run on
   * a thread of the recorder and must not take locks that a thread inside an opdump call can hold. NULL:
   * nothing is borrowed. */
  void (*retain)(void* owner);
  void (*release)(void* owner);
  /* Not NULL: the configuration itself, for engines that make it. config_path is then only what messages call
   * it. */
  const char* config_text;
  /* Not NULL: takes the files of operators, which are not written to the disk then; nothing is. Returns 0;
   * any other number ends the recording. One call at a time, from any thread. For plans of the dialect "acl".
   */
  int (*write_file)(void* user, const opdump_file_chunk* chunk);
  void* write_file_user;
  uint32_t existing; /* opdump_existing */
  /* Not 0: a rank or device_id of 0 is taken from what launchers put into the environment: RANK_ID, RANK,
   * OMPI_COMM_WORLD_RANK, SLURM_PROCID; DEVICE_ID, LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK,
   * SLURM_LOCALID. The first that is set counts. */
  uint32_t is_launched;
} opdump_options;

/* One input or output of an operator. The memory stays the caller's. */
typedef struct opdump_tensor {
  uint32_t size;          /* sizeof(opdump_tensor) */
  uint32_t dtype;         /* opdump_dtype */
  uint32_t rank;          /* 0 for a scalar */
  uint32_t index;         /* operand index; gaps are allowed */
  const int64_t* shape;   /* rank elements */
  const int64_t* strides; /* rank elements, counted in elements; NULL means row-major */
  const void* data;       /* element 0; host memory */
  /* Equal non-zero contents promise equal bytes in the whole block of memory behind `data`: the recorder may
   * then reuse what it knows of it. Give a block a new number whenever it may have changed. 0: unknown, never
   * reused. */
  uint64_t content;
  /* Not NULL: the block behind `data` may be read after the call as long as it is retained. If `content` is
   * not 0, before_write() is called before anything writes to it. NULL: the recorder is done with the data
   * when the call returns. */
  void* owner;
  /* Not NULL: it is not dumped as an operand, for this reason ("sparse", "view", "uninitialised"). If `data`
   * is given nevertheless, that is for what `name` says: a parameter. */
  const char* undumped;
  /* Identity of the value in the graph: an input came from the operator that had an output of the same value.
   * 0: unknown; then `content` decides. */
  uint64_t value;
  const char* name; /* "conv1.weight", "x", or NULL */
  uint32_t role;    /* opdump_role */
  uint32_t format;  /* how its dimensions are named: 1 + CANN's aclFormat (NCHW 1, NHWC 2, ND 3, NCDHW 31);
                       0: NCHW if there are four, else ND */
  /* Not 0: `shape` is that of a device's layout (NC1HWC0 4, FRACTAL_Z 5, FRACTAL_NZ 30, NDC1HWC0 33 in
   * `format`), and these are the dimensions of the tensor that the program means: containers have both. */
  uint32_t original_rank;
  uint32_t reserved;
  const int64_t* original_shape; /* original_rank elements */
  /* Not 0: the block of memory that the elements lie in, the same number as long as it is that block, and
   * where in it element 0 is, in bytes. An input then came from the operator that was the last to write to
   * its elements, and `value` is not looked at. */
  uint64_t block;
  int64_t block_offset;
} opdump_tensor;

/* An argument of an operator, tensors among them, in the order of its schema. Names and texts are borrowed
 * for the call. */
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

/* An operator, the same one in every step. (graph_id, name) identifies it. */
typedef struct opdump_op_info {
  uint32_t size;           /* sizeof(opdump_op_info) */
  uint32_t phase;          /* opdump_phase */
  const char* type;        /* "convolution" */
  const char* name;        /* full scoped name: "Default/conv1-Conv2d/convolution-op0" */
  const char* source_file; /* the user's line that made it; NULL if unknown */
  int32_t source_line;
  int32_t reserved;
  int64_t graph_id; /* the model id, or OPDUMP_NO_GRAPH */
  int64_t stream;
  uint64_t task; /* its number in file names; 0: the recorder counts */
  /* The operators of the user's model that this one was made of; plans name operators by these too. NULL: it
   * is one of them itself. Not NULL and none: the engine made it up. */
  const char* const* original_names;
  size_t original_count;
  /* The calls of the program that led to it, innermost first: "file:line:function" each, function may be
   * empty. NULL if unknown. */
  const char* const* frames;
  size_t frame_count;
} opdump_op_info;

/* A model. */
typedef struct opdump_graph_info {
  uint32_t size; /* sizeof(opdump_graph_info) */
  uint32_t reserved;
  int64_t graph_id;        /* the model id */
  const char* name;        /* the outermost name inside the model: "resnet50" */
  const char* file_name;   /* of the model's file, without directory and suffix; NULL: it came from memory */
  const uint64_t* outputs; /* what it gives, by opdump_tensor.value; NULL: whatever no operator reads */
  size_t output_count;
} opdump_graph_info;

typedef enum opdump_step_end {
  OPDUMP_STEP_WHOLE = 0,
  OPDUMP_STEP_TAIL = 1,
  OPDUMP_STEP_CUT = 2
} opdump_step_end;

/* "0.1.0" */
OPDUMP_API const char* opdump_version(void);

/* The text of this thread's last failure; "" if there was none. Valid until this thread's next call. */
OPDUMP_API const char* opdump_last_error(void);

/* The number that the system whose configuration language it is has for this thread's last failure; 0 if it
 * has none. "acl" (set opdump_options.dialect): 100009 a rule of the language is broken, the text says which,
 * EP0001 to EP0005; 100003 no file, or one larger than 10 MiB; 100006 more than 10 nested braces or brackets;
 * 500000 the output cannot be made. */
OPDUMP_API int opdump_last_error_code(void);

/* Reads the configuration, creates the output directory, starts the pipeline. On success *session is owned by
 * the caller: release it with opdump_close. Step 0 is current. A configuration that is right and asks for
 * nothing ("acl": no object "dump", or nothing in it that is to be dumped) gives OPDUMP_OK and no session:
 * *session is NULL, which every function below takes for a session that wants nothing. */
OPDUMP_API opdump_status opdump_open(const opdump_options* options, opdump_session** session);

/* Waits until everything is on disk, writes opdump_status.json, logs a summary and frees the session. No
 * other call may be under way. NULL is allowed. Fails if recording had stopped (disk full, ...). */
OPDUMP_API opdump_status opdump_close(opdump_session* session);

/* Makes `step` current (steps count from 0) and returns 1 if the plan selects it, else 0. In a step that is
 * not selected the engine need not call before_write: nothing is borrowed any more when this returns 0. Not
 * while calls of another thread are between begin and end, unless these may count for either step. */
OPDUMP_API int opdump_set_step(opdump_session* session, int64_t step);

/* 1 if `step` is selected: lets an engine unhook itself until then. */
OPDUMP_API int opdump_selects_step(const opdump_session* session, int64_t step);

/* 1 if the plan saves the inputs of operators that fail. The engine then gives the data also of operators
 * that only make views, which fail as well; nothing is kept of those that do not. */
OPDUMP_API int opdump_keeps_failures(const opdump_session* session);

/* Names a model, before its operators are defined: plans choose models by name, and directories bear them. An
 * engine that tells graphs (tells_graph) names all of them at once, whatever the graph_id. */
OPDUMP_API void opdump_define_graph(opdump_session* session, const opdump_graph_info* graph);

/* The operator of this name, made known at its first call. NULL only if memory ran out or recording has
 * stopped. */
OPDUMP_API const opdump_op* opdump_define(opdump_session* session, const opdump_op_info* info);

/* What is wanted of this operator in the current step: bits of opdump_want, 0 for nothing. O(1), no
 * allocation: ask before gathering tensors. A tensor whose data is not wanted may come without (data NULL) or
 * be left out. A NULL session or operator wants nothing. */
OPDUMP_API int opdump_wants(const opdump_session* session, const opdump_op* op);

/* Blocks until the recorder no longer needs the blocks of memory with these contents as they are. Call it,
 * after begin, before an operator writes to them, selected or not. Returns at once if nothing is pending. */
OPDUMP_API void opdump_before_write(opdump_session* session, const uint64_t* contents, size_t count);

/* The same before something writes of which nobody says where. */
OPDUMP_API void opdump_before_any_write(opdump_session* session);

/* Takes the inputs, before the operator runs. NULL if there is nothing to record. May block while the memory
 * limit is reached. */
OPDUMP_API opdump_call* opdump_begin(opdump_session* session, const opdump_op* op,
                                     const opdump_tensor* inputs, size_t count);

/* Takes the arguments of a call, where opdump_wants() asked for them. */
OPDUMP_API void opdump_set_arguments(opdump_session* session, opdump_call* call,
                                     const opdump_argument* arguments, size_t count);

/* The operator has returned, but what it makes is not there yet, as with a collective between processes:
 * notes which outputs these will be, and looks at no data. opdump_end() follows when they are there, on any
 * thread. */
OPDUMP_API void opdump_returned(opdump_session* session, opdump_call* call, const opdump_tensor* outputs,
                                size_t count);

/* Takes the outputs, after the operator ran, and ends the call. `failed` not 0: the operator threw, there are
 * none. */
OPDUMP_API void opdump_end(opdump_session* session, opdump_call* call, const opdump_tensor* outputs,
                           size_t count, int failed);

/* For plans that record flagged operators only (dump_mode 2): flags the operator `name`, or all operators of
 * the scope `name` ("Default/conv1-Conv2d"), with their gradients. The longest name that fits decides.
 * `enabled`: bits of opdump_flag. A name that fits no operator is said at the end. */
OPDUMP_API void opdump_set_dump(opdump_session* session, const char* name, int enabled);

/* Right before opdump_close: what the step under way is. OPDUMP_STEP_TAIL: not a step, but what ran after the
 * last one. OPDUMP_STEP_CUT: the program was stopped in the middle of it. The status file says so, and
 * comparing leaves out or excuses what it must. Without this call it is a step like the others. */
OPDUMP_API void opdump_mark_step(opdump_session* session, opdump_step_end end);

/* Tells that something ran and could not be seen ("torch.compile graph"): recorded as a loss, said once. */
OPDUMP_API void opdump_report_unseen(opdump_session* session, const char* what, const char* reason);

/* Waits until everything begun so far is on disk. Fails if recording has stopped. */
OPDUMP_API opdump_status opdump_flush(opdump_session* session);

/* As opdump_flush, and the status file says that nothing is missing if the process ends now: for one that
 * waits for work and may be ended from outside meanwhile. The next opdump_begin takes that back. */
OPDUMP_API opdump_status opdump_rest(opdump_session* session);

/* The directory of the plan, absolute: everything that is recorded lies in it. "" for NULL. Lives as long as
 * the session. */
OPDUMP_API const char* opdump_directory(const opdump_session* session);

/* In a child made by fork(): lets go of the parent's session without touching its files. The pointer is dead
 * then. */
OPDUMP_API void opdump_abandon(opdump_session* session);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_OPDUMP_H */
