// Receives every kernel that the CPU runs and reports it to the recorder.
//
// TensorFlow calls Device::Compute for the operators of a function, of a session and of Python alike, after
// all optimisation of the graph. Nothing is added to a graph, so the program computes what it computes
// without us.
//
//   Python (opdump._tensorflow)   enters and leaves functions, sessions and optimizers; describes operators
//   that it runs Device (device.cc)            begin -> the kernel -> end
//
// A step ends when the outermost of these ends in which an optimizer changed a variable. In a program without
// an optimizer it ends before a function that ran in it runs again.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include <tensorflow/core/framework/op_kernel.h>
#include "kinds.h"
#include "names.h"
#include "opdump/opdump.h"

namespace opdump::tensorflow_adapter {

// What Python enters.
enum class Section { function = 0, session = 1, optimizer = 2 };

// Note for this thread what it is in, whether or not something is recorded.
void push_section(Section section);
void pop_section(Section section);

struct Execution {
  opdump_call* call = nullptr;
  Kind kind = Kind::plumbing;
  bool is_seen = false;
};

class Observer {
 public:
  explicit Observer(opdump_session* session);

  Execution begin(tensorflow::OpKernel& kernel, tensorflow::OpKernelContext& context);
  void end(const Execution& execution, tensorflow::OpKernel& kernel, tensorflow::OpKernelContext& context);

  // Before push_section() and after pop_section().
  void enter(const char* unit, Section section);
  void leave(Section section);
  // What a program without an optimizer repeats in each step.
  void begin_unit(const char* unit);
  // Steps are then counted by this function only.
  void step();
  // The program has an optimizer: the step waits for it.
  void note_optimizer();
  // Functions of the eager runtime have this configuration; those of data sets have another one.
  void add_runtime(const void* config);

  Names& names() { return names_; }
  opdump_session* session() const { return session_; }
  bool is_active() const { return is_active_; }
  std::int64_t current_step() const { return step_; }
  opdump_step_end open_step() const;

 private:
  bool sees(const tensorflow::OpKernelContext& context, bool is_eager);
  void begin_step(std::int64_t step);
  void note_value(Kind kind, tensorflow::OpKernel& kernel, tensorflow::OpKernelContext& context);

  opdump_session* const session_;
  const bool dumps_views_;
  Names names_;
  std::mutex mutex_;  // of the following
  std::set<const void*> runtimes_;
  std::set<std::string> units_;   // that ran in this step
  std::atomic<int> sessions_{0};  // that run now
  std::atomic<std::int64_t> step_{0};
  std::atomic<bool> is_active_{false};
  std::atomic<bool> has_optimizer_{false}, is_trained_{false}, has_run_{false}, is_explicit_{false};
};

// What Python says of the operator that this thread is about to run.
struct Description {
  std::string scope;
  Source source;
};
Description& current_description();

// Asks Python; null if nobody answers.
extern std::atomic<void (*)()> describe;

}  // namespace opdump::tensorflow_adapter
