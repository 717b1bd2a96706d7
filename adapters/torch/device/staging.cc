#include "device/staging.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>

#include "switches.h"

namespace opdump::torch_adapter {
namespace {

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

std::atomic<std::uint32_t> devices{0};  // a bit for each kind
static_assert(c10::COMPILE_TIME_MAX_DEVICE_TYPES <= 32);

}  // namespace

void note_device(c10::Device device) {
  const std::uint32_t bit = 1u << static_cast<unsigned>(device.type());
  if ((devices.load(std::memory_order_relaxed) & bit) == 0) devices.fetch_or(bit, std::memory_order_relaxed);
}

std::string devices_used() {
  std::string names;
  for (int i = 0; i < c10::COMPILE_TIME_MAX_DEVICE_TYPES; ++i)
    if ((devices.load(std::memory_order_relaxed) >> i & 1) != 0)
      names += (names.empty() ? "" : ", ") + c10::DeviceTypeName(static_cast<c10::DeviceType>(i), true);
  return names.empty() ? "cpu" : names;
}

bool is_captured(c10::Device device) {
  const auto* guard = c10::impl::getDeviceGuardImpl(device.type());
  return is_capturing(*guard, device);
}

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

StagingGuard::StagingGuard() : without_autocast_(c10::autocast_dispatch_keyset), unobserved_(kKey) {}

std::optional<c10::Event> make_event(c10::Device device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  c10::Event event(device.type());
  try {
    event.record(guard.getStream(device));
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return event;
}

void Staged::send_off(c10::Event event, c10::Device device) {
  event.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  arrival = std::move(event);
}

void Staged::wait() {
  if (arrival) wait_for(*arrival);
  std::call_once(has_arrived_, [this] { arrived(); });
}

StagedPointer stage(const at::Tensor& tensor) {
  const StagingGuard guard;
  auto staged = c10::make_intrusive<Staged>();
  std::optional<c10::Event> arrival = make_event(tensor.device());
  if (tensor.is_quantized() || !arrival) {  // a copy that the program waits for
    staged->host = tensor.to(at::kCPU);
    return staged;
  }
  staged->host = make_buffer(tensor);
  staged->host.copy_(tensor, /*non_blocking=*/true);
  staged->send_off(std::move(*arrival), tensor.device());
  return staged;
}

int wait_for_staged(void* owner) noexcept {
  try {
    static_cast<Staged*>(static_cast<Block*>(owner))->wait();
    return 0;
  } catch (...) {
    return 1;
  }
}

}  // namespace opdump::torch_adapter
