#include "device/staging.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace opdump::torch_adapter {
namespace {

// Memory that a device can write to while the program goes on, if torch has such for it; else ordinary
// memory, which is also right: the event covers whatever the device makes of it.
at::Tensor make_buffer(const at::Tensor& tensor) {
  static std::atomic<bool> is_pinned{true};
  const auto options = tensor.options().device(at::kCPU);
  if (is_pinned.load(std::memory_order_relaxed)) {
    try {
      return at::empty_like(tensor, options.pinned_memory(true));
    } catch (const std::exception&) {
      is_pinned = false;
    }
  }
  return at::empty_like(tensor, options);
}

template <typename Guard>
bool is_capturing(const Guard& guard, c10::Device device) {
  if constexpr (requires { guard.isStreamCapturing(guard.getStream(device)); })
    return guard.isStreamCapturing(guard.getStream(device));
  return false;  // this torch has no way to ask
}

template <typename Event>
void wait_for(const Event& event) {
  if constexpr (requires { event.synchronize(); }) {
    event.synchronize();
  } else {
    while (!event.query()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

bool is_captured(c10::Device device) {
  const auto* guard = c10::impl::getDeviceGuardImpl(device.type());
  return is_capturing(*guard, device);
}

StagedPointer stage(const at::Tensor& tensor) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;  // a copy of ours is no part of the program
  auto staged = c10::make_intrusive<Staged>();
  if (tensor.is_quantized()) {
    staged->host = tensor.to(at::kCPU);
    return staged;
  }
  const c10::impl::VirtualGuardImpl guard(tensor.device().type());
  const c10::Stream stream = guard.getStream(tensor.device());
  c10::Event arrival(tensor.device().type());
  try {
    arrival.record(stream);
  } catch (const std::exception&) {  // a device without events: a copy that the program waits for
    staged->host = tensor.to(at::kCPU);
    return staged;
  }
  staged->host = make_buffer(tensor);
  staged->host.copy_(tensor, /*non_blocking=*/true);
  arrival.record(stream);
  staged->arrival = std::move(arrival);
  return staged;
}

int wait_for_staged(void* owner) noexcept {
  try {
    const auto* staged = static_cast<const Staged*>(static_cast<Block*>(owner));
    if (staged->arrival) wait_for(*staged->arrival);
    return 0;
  } catch (...) {
    return 1;
  }
}

}  // namespace opdump::torch_adapter
