// The switches: what torch is made to call, and when. See hooks.cc for who may throw which.
#pragma once

#include "bridge.h"

namespace opdump::torch_adapter {

// Puts the dispatch key into this thread's set, or takes it out.
void hook_thread(bool on);

// Whether backward nodes are reported; process-wide.
void hook_backward(bool on);

// What Python gave us, or null in a C++ program.
const opdump_torch_bridge* current_bridge();

}  // namespace opdump::torch_adapter
