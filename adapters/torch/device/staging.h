// Tensors of devices on their way to the host. A device executes what it is given in the order of a stream,
// later and elsewhere: a copy on the stream of the program reads what the operators before it wrote, and
// nothing of what those after it will write. The program does not wait for the copy; an event says when it is
// there.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <mutex>
#include <optional>
#include <string>

#include "contents.h"

namespace opdump::torch_adapter {

// The owner of a copy, for opdump_tensor.owner.
struct Staged : Block {
  at::Tensor host;
  std::optional<c10::Event> arrival;  // nothing: the values are there

  // The copy has been given to the device: `event` happens after it.
  void send_off(c10::Event event, c10::Device device);
  // Returns once the values are there.
  void wait();

 protected:
  virtual void arrived() {}  // once, on the thread of who waits first

 private:
  std::once_flag has_arrived_;
};
using StagedPointer = c10::intrusive_ptr<Staged>;

// Around operators of ours, which are no part of the program.
class StagingGuard {
 public:
  StagingGuard();

 private:
  const at::AutoDispatchBelowADInplaceOrView below_autograd_;
  const c10::impl::ExcludeDispatchKeyGuard without_autocast_, unobserved_;
};

// Memory of the host, as large as `tensor`, that a device can write to while the program goes on, if torch
// has such for it; else ordinary memory, which is also right: the event covers whatever the device makes of
// it.
at::Tensor make_buffer(const at::Tensor& tensor);

// For the current stream of the device; nothing if it has no events.
std::optional<c10::Event> make_event(c10::Device device);

// Remembers the device for devices_used().
void note_device(c10::Device device);

// Whether what the program gives the device now is kept for later instead of executed: a copy would be, too.
bool is_captured(c10::Device device);

// Begins to copy a tensor of a device, on the current stream of this thread.
StagedPointer stage(const at::Tensor& tensor);

// The kinds of devices whose tensors this process has recorded, "cuda" or "cuda, xpu"; "cpu" if there are
// none.
std::string devices_used();

// For opdump_options.wait; `owner` is a Block, and a Staged.
int wait_for_staged(void* owner) noexcept;

}  // namespace opdump::torch_adapter
