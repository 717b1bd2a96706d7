// What a thread of the watched program is doing, as far as a recording needs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "names.h"

namespace opdump::torch_adapter {

class Observer;

// The recording under way, or null.
inline std::atomic<Observer*> recording_observer{nullptr};
inline Observer* current_observer() { return recording_observer; }

struct ThreadState {
  const Observer* recording = nullptr;  // that the rest is about
  struct Frame {
    Scope* scope;
    Source source;  // of backward nodes: the line of the forward operator
    bool backward;
  };
  std::vector<Frame> stack;
  std::uint64_t outer_place = 0;   // where the program called the outermost module or optimizer of `stack`
  Scope* last_backward = nullptr;  // the node that ran last: sums of gradients come between nodes
  Source last_backward_source;
  std::uint64_t sequence_number = 0;  // of autograd, as far as note_forward() has seen it
  bool is_in_model = false;           // in a call that counts
  int executions = 0;                 // of compiled models that this thread is in
  int backward_calls = 0;  // of Python's backward() and grad() that this thread is inside of, recorded or not
};

ThreadState& this_thread();

// The place in the program that runs now on this thread, with its callers or alone; 0 where nobody knows.
std::uint64_t find_place();
std::uint64_t find_instruction();

}  // namespace opdump::torch_adapter
