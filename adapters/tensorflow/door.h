// The functions that python/opdump/_tensorflow/attach.py calls by ctypes, and the observer under way.
#pragma once

#include <stdint.h>

#include "opdump/opdump.h"

namespace opdump::tensorflow_adapter {

class Observer;

// A thread that may use the observer. A recording is not closed under its feet.
class Visit {
 public:
  Visit();
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  Observer* observer() const { return observer_; }

 private:
  Observer* observer_;
};

}  // namespace opdump::tensorflow_adapter

extern "C" {
// Lines of ours go to this descriptor, which stays the caller's, instead of what stderr is when recording
// begins. Before the first opdump_tensorflow_start.
OPDUMP_API void opdump_tensorflow_keep_stderr(int original);
// `program` names the model; `model_name` replaces it, if it is not NULL.
OPDUMP_API opdump_status opdump_tensorflow_start(const opdump_options* options, const char* program);
OPDUMP_API opdump_status opdump_tensorflow_stop(int was_cut_short);
// `ask` is called by a Python thread that is about to run an operator; it calls opdump_tensorflow_describe().
OPDUMP_API void opdump_tensorflow_set_describer(void (*ask)(void));
OPDUMP_API void opdump_tensorflow_describe(const char* scope, const char* file, int line);
// `context` is a TFE_Context.
OPDUMP_API void opdump_tensorflow_set_context(void* context);
// `section`: 0 a function, 1 a session's run, 2 an optimizer. `unit` names what runs.
OPDUMP_API void opdump_tensorflow_enter(const char* unit, int section);
OPDUMP_API void opdump_tensorflow_leave(int section);
// What a program without an optimizer repeats in each step, outside of sections.
OPDUMP_API void opdump_tensorflow_begin_unit(const char* unit);
// `scope` may be NULL: an optimizer whose scope is not known.
OPDUMP_API void opdump_tensorflow_add_optimizer(const char* scope);
OPDUMP_API void opdump_tensorflow_add_source(const char* node, const char* file, int line);
OPDUMP_API void opdump_tensorflow_step(void);
OPDUMP_API int opdump_tensorflow_is_active(void);
OPDUMP_API int64_t opdump_tensorflow_current_step(void);
OPDUMP_API void opdump_tensorflow_report_unseen(const char* what, const char* reason);
}
