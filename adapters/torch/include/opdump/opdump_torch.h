/* opdump_torch.h - record a libtorch program. C++ programs link libopdump_torch, or preload it:
 *
 *   MINDSPORE_DUMP_CONFIG=$PWD/data_dump.json LD_PRELOAD=libopdump_torch.so ./train
 *
 * Preloading needs no change to the program: recording starts when the library is loaded and stops when the
 * program ends. Commands without libtorch (the shell that starts the program) are not affected. A program
 * that loads libtorch later, by dlopen, calls opdump_torch_start. The functions below are for programs that
 * control the recording. The Python package `opdump` has the same functions.
 */
#ifndef OPDUMP_TORCH_H
#define OPDUMP_TORCH_H

#include "opdump/opdump.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts recording with `options`. This function sets runtime, retain and release, and takes unset fields
 * from the environment: OPDUMP_CONFIG, OPDUMP_MODE, OPDUMP_STRICT, RANK, ... Names begin with "Default", or
 * with "Default/" and the process if options.process is set. Fails if a recording is in progress. */
OPDUMP_API opdump_status opdump_torch_start(const opdump_options* options, int64_t first_step);

/* Stops and writes what is pending. Does nothing if no recording is in progress. */
OPDUMP_API opdump_status opdump_torch_stop(void);

/* Ends the current step. From the first call on, only this function ends steps. Until then a step ends with
 * Optimizer.step() or, in programs without an optimizer, with the outermost module call (Python), or when a
 * forward pass follows a backward pass (C++). */
OPDUMP_API void opdump_torch_step(void);

/* Push and pop a part of this thread's scope, as a module call does in Python. */
OPDUMP_API void opdump_torch_push(const char* component);
OPDUMP_API void opdump_torch_pop(void);

/* For plans that record flagged operators only (dump_mode 2): see opdump_set_dump. Call it before the first
 * step: "Default/conv1" flags what runs between opdump_torch_push("conv1") and opdump_torch_pop(). */
OPDUMP_API void opdump_torch_set_dump(const char* name, int enabled);

/* 1 while operators of the current step are recorded. */
OPDUMP_API int opdump_torch_active(void);

#ifdef __cplusplus
}
#endif
#endif /* OPDUMP_TORCH_H */
