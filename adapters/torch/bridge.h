/* The functions of the C++ part that the Python part of the adapter (python.cc) calls. Programs use
 * opdump/opdump_torch.h instead. */
#ifndef OPDUMP_TORCH_BRIDGE_H
#define OPDUMP_TORCH_BRIDGE_H

#include "opdump/opdump_torch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The part of a tensor that this process has, and the mesh of the processes that hold it together. */
typedef struct opdump_torch_shard {
  const void*
      tensors[2]; /* c10::TensorImpl* of the part; of what it becomes when operators see it, or the same */
  uint32_t rank;  /* dimensions of the mesh */
  int64_t mesh[8], place[8];
  char placements[256]; /* see opdump_part */
} opdump_torch_shard;

typedef struct opdump_torch_bridge {
  /* Calls add(user, ...) for each call of the program that this thread is inside of, innermost first, without
   * those of torch and the standard library, until add returns 0. `is_own`: not of an installed package.
   * Texts are borrowed. */
  void (*visit_frames)(int (*add)(void* user, const char* file, int line, const char* function, int is_own),
                       void* user);
  /* The place in the user's program that runs now on this thread: equal numbers are the same instruction, and
   * if `with_callers` of the same calls. 0 if there is none. */
  uint64_t (*find_place)(int with_callers);
  /* Whether the program that runs now on this thread has an optimizer and mentions its step(). */
  int (*steps_optimizer)(void);
  /* Called once in a forked child before its first operator: starts a recording of its own, or not. Also
   * where opdump_torch_await_operator() asks for it. */
  void (*start_in_child)(void);
  /* Describes a c10::TensorImpl* whose operators Python runs. 0 if it is no part of anything, or not known.
   */
  int (*describe_shard)(void* tensor, opdump_torch_shard* shard);
} opdump_torch_bridge;
OPDUMP_API void opdump_torch_set_bridge(const opdump_torch_bridge* bridge);

/* Lines of ours go to this descriptor, which stays the caller's, instead of what stderr is when recording
 * begins. Before the first opdump_torch_start. */
OPDUMP_API void opdump_torch_keep_stderr(int original);

/* The Python of this process, for the status files of recordings that begin later. */
OPDUMP_API void opdump_torch_set_python(const char* path);

/* Scopes. NULL while nothing is recorded. A scope lives until the library is unloaded. */
OPDUMP_API void* opdump_torch_root(void);
/* The scope `path`, components separated by '/', below `parent`; `parent` itself if it is empty. */
OPDUMP_API void* opdump_torch_descend(void* parent, const char* path);
/* The innermost module scope of this thread that a module call can nest in, or NULL: inside an optimizer or a
 * backward pass a module call begins anew at the root. */
OPDUMP_API void* opdump_torch_module_scope(void);
OPDUMP_API void opdump_torch_push_scope(void* scope);
/* Where operators of this thread belong now; of a recorded step, else NULL. */
OPDUMP_API void* opdump_torch_current_scope(void);
/* A node of a traced graph runs: its operators have the scope `path` below `scope` (NULL: the root), or the
 * gradients of that, and come from this line. `stack` describes the call, as in Stack. opdump_torch_pop()
 * ends it. */
OPDUMP_API void opdump_torch_push_node(void* scope, const char* path, const char* file, int line,
                                       const char* stack, int is_backward);

/* What the program calls the tensor in a c10::StorageImpl*: "conv1.weight", "x". */
OPDUMP_API void opdump_torch_name_tensor(void* storage, const char* name, int is_weight);
/* set_dump() for a module: for all operators of its scope; of the root, for those of the model. */
OPDUMP_API void opdump_torch_flag_scope(void* scope, int enabled);

/* The name of the model: see opdump_graph_info. Right after opdump_torch_start. */
OPDUMP_API void opdump_torch_name_model(const char* name);
/* Operators that this thread runs for the first time from here on are chosen by `mark` as by their names;
 * NULL ends that. */
OPDUMP_API void opdump_torch_mark(const char* mark);

/* Around a call of backward() or grad() on this thread. */
OPDUMP_API void opdump_torch_enter_backward_call(void);
OPDUMP_API void opdump_torch_leave_backward_call(void);

/* Recordings that start from now on: the operators belong to no model (1), or to the program as a model (0).
 */
OPDUMP_API void opdump_torch_record_single_operators(int on);

/* Recordings that start from now on: only what runs in executions of a compiled model is recorded, and each
 * is a step of the model with id 1 (1); or everything is (0). */
OPDUMP_API void opdump_torch_record_executions(int on);
OPDUMP_API void opdump_torch_enter_execution(void);
OPDUMP_API void opdump_torch_leave_execution(void);
/* Whether the recording is of executions only; then, whether this thread is in one. */
OPDUMP_API int opdump_torch_records_executions(void);
OPDUMP_API int opdump_torch_is_executing(void);

/* Around a call of a module that no other module called. `counts`: its calls are steps if nothing better
 * counts them; `repeats`: the step under way has called it before; `trains`: it is in training mode. */
OPDUMP_API void opdump_torch_enter_call(int counts, int repeats, int trains);
OPDUMP_API void opdump_torch_leave_call(void);
/* The recording is about to be stopped because the program was: the step under way is cut short. */
OPDUMP_API void opdump_torch_cut_short(void);
/* See opdump_raise_alarm(). */
OPDUMP_API void opdump_torch_raise_alarm(const char* kind, const char* text);
/* What this thread runs between the two is not recorded. They nest. */
OPDUMP_API void opdump_torch_pause(void);
OPDUMP_API void opdump_torch_resume(void);
/* Around code that a compiler generated: it may write to any memory, and what it runs is not recorded. */
OPDUMP_API void opdump_torch_enter_generated(void);
OPDUMP_API void opdump_torch_leave_generated(void);
/* The PyObject* of a c10::TensorImpl* that has one, borrowed; else NULL. Of a torch that has DTensors. */
OPDUMP_API void* opdump_torch_python_object(void* tensor);
/* The program has made a mesh of processes: parts of tensors are described from now on. */
OPDUMP_API void opdump_torch_expect_shards(void);
/* See opdump_rest. */
OPDUMP_API void opdump_torch_rest(void);
/* Ends the recording as it is on the disk: its status stays that of the last opdump_torch_rest(). */
OPDUMP_API void opdump_torch_abandon(void);
/* See opdump_directory; "" while nothing is recorded. */
OPDUMP_API const char* opdump_torch_directory(void);
/* start_in_child() is called before the next operator, in this process. */
OPDUMP_API void opdump_torch_await_operator(void);
/* Whether the recording under way saves operators that fail, and how many it has saved of this thread. One
 * that fails before torch runs any operator is reported by the operator opdump_torch::add_failure. */
OPDUMP_API int opdump_torch_keeps_failures(void);
OPDUMP_API uint64_t opdump_torch_failures(void);
/* Makes this thread take part (a new thread does not inherit it). */
OPDUMP_API void opdump_torch_join_thread(void);
/* The same for a thread of torch's while it runs a function of the program, whose operators belong to
 * `scope`. What it returns, 1 if the thread did not take part, ends it. */
OPDUMP_API int opdump_torch_lend_thread(void* scope);
OPDUMP_API void opdump_torch_return_thread(int was_lent);
/* The program is about to get at the memory of a tensor (a c10::StorageImpl*) behind torch's back. */
OPDUMP_API void opdump_torch_settle(void* storage);
/* The program has written to a c10::StorageImpl* without an operator. */
OPDUMP_API void opdump_torch_written(void* storage);
/* The program has given a c10::StorageImpl* memory without an operator, and nothing was written there. */
OPDUMP_API void opdump_torch_allocated(void* storage);
OPDUMP_API void opdump_torch_report_unseen(const char* what, const char* reason);
OPDUMP_API int64_t opdump_torch_current_step(void);

/* What this thread asks of torch from here on is ours: no mode, subclass or profiler of the program sees it.
 * They nest.
 */
OPDUMP_API void opdump_torch_hide(void);
OPDUMP_API void opdump_torch_unhide(void);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_TORCH_BRIDGE_H */
