// Tensors of devices on their way to the host. A device executes what it is given in the order of a stream,
// later and elsewhere: a copy on the stream of the program reads what the operators before it wrote, and
// nothing of what those after it will write. The program does not wait for the copy; an event says when it is
// there.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>

#include "contents.h"

namespace opdump::torch_adapter {

// The owner of a copy, for opdump_tensor.owner.
struct Staged : Block {
  at::Tensor host;
  std::optional<c10::Event> arrival;  // nothing: the values are there
};
using StagedPointer = c10::intrusive_ptr<Staged>;

// Whether what the program gives the device now is kept for later instead of executed: a copy would be, too.
bool is_captured(c10::Device device);

// Begins to copy a tensor of a device, on the current stream of this thread.
StagedPointer stage(const at::Tensor& tensor);

// For opdump_options.wait; `owner` is a Block, and a Staged.
int wait_for_staged(void* owner) noexcept;

}  // namespace opdump::torch_adapter
