// The switches: for which threads and passes torch calls us at all.
#pragma once

#include <ATen/record_function.h>
#include <c10/core/DispatchKey.h>

#include "bridge.h"

namespace opdump::torch_adapter {

// The dispatch key of the boxed fallback: reserved for use outside of torch itself.
inline constexpr c10::DispatchKey kKey = c10::DispatchKey::Fake;

// Adds the dispatch key to this thread's set, or removes it.
void hook_thread(bool on);

// Whether it is in this thread's set.
bool is_hooked();

// While this is on, no thread that calls hook_thread() loses the key.
void keep_threads_hooked(bool on);

// Whether this thread is inside of an operator that the key has seen: what runs now is a part of it.
bool is_inside_kernel();

// The callback for backward nodes, which is on at first.
void set_backward_callback(at::CallbackHandle callback);
// Whether backward nodes are reported; process-wide.
void hook_backward(bool on);

// The callback for operators on DTensors, which this switches off.
void set_shard_callback(at::CallbackHandle callback);
// The program has made a mesh of processes: there may be DTensors.
void expect_shards();
// Whether such operators are reported, once they are expected; process-wide.
void hook_shards(bool on);

// What Python gave us, or null in a C++ program.
void set_bridge(const opdump_torch_bridge* bridge);
const opdump_torch_bridge* current_bridge();

}  // namespace opdump::torch_adapter
