#include "switches.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <mutex>

namespace opdump::torch_adapter {
namespace {

std::atomic<bool> keeps_hooked{false};
std::atomic<const opdump_torch_bridge*> bridge{nullptr};
at::CallbackHandle backward_callback = at::INVALID_CALLBACK_HANDLE;
bool backward_on = false;
std::mutex shard_mutex;  // guards the rest
at::CallbackHandle shard_callback = at::INVALID_CALLBACK_HANDLE;
bool shards_expected = false, shards_wanted = false, shards_on = true;

void switch_shards() {
  const bool on = shards_expected && shards_wanted;
  if (shards_on == on || shard_callback == at::INVALID_CALLBACK_HANDLE) return;
  shards_on = on;
  if (on)
    at::reenableCallback(shard_callback);
  else
    at::disableCallback(shard_callback);
}

}  // namespace

void hook_thread(bool on) { c10::impl::tls_set_dispatch_key_included(kKey, on || keeps_hooked); }

bool is_hooked() { return c10::impl::tls_is_dispatch_key_included(kKey); }

void keep_threads_hooked(bool on) { keeps_hooked = on; }

bool is_inside_kernel() { return c10::impl::tls_is_dispatch_key_excluded(kKey); }

void set_backward_callback(at::CallbackHandle callback) {
  backward_callback = callback;
  backward_on = true;
}

void hook_backward(bool on) {
  if (backward_on == on || backward_callback == at::INVALID_CALLBACK_HANDLE) return;
  backward_on = on;
  if (on)
    at::reenableCallback(backward_callback);
  else
    at::disableCallback(backward_callback);
}

void set_shard_callback(at::CallbackHandle callback) {
  const std::lock_guard lock(shard_mutex);
  shard_callback = callback;
  switch_shards();
}

void expect_shards() {
  const std::lock_guard lock(shard_mutex);
  shards_expected = true;
  switch_shards();
}

void hook_shards(bool on) {
  const std::lock_guard lock(shard_mutex);
  shards_wanted = on;
  switch_shards();
}

void set_bridge(const opdump_torch_bridge* b) { bridge = b; }

const opdump_torch_bridge* current_bridge() { return bridge; }

}  // namespace opdump::torch_adapter
