// What files that list calls and their tensors have in common: msprobe's dump.json, the logs of DebugMode.
#pragma once

#include <utility>

#include "dump/read/operator_run.h"
#include "model/frame.h"

namespace opdump::dump {

// The slot of a tensor that such a file describes (format::MsprobeTensor, format::DebugModeTensor).
template <typename Tensor>
Slot slot_of_listed(Tensor tensor) {
  Slot slot;
  slot.side = tensor.side;
  slot.index = tensor.index;
  slot.argument = std::move(tensor.argument);
  slot.format = "DefaultFormat";
  slot.dtype = tensor.dtype;
  slot.shape = std::move(tensor.shape);
  slot.statistics = SlotStatistics(tensor.statistics);
  return slot;
}

// Sets where the user's program made the call that `op.stack` led to.
inline void set_source(LoggedOperator& op) {
  const model::Frame* const frame = model::find_user_frame(op.stack);
  if (frame == nullptr) return;
  op.source_file = frame->file;
  op.source_line = frame->line;
}

}  // namespace opdump::dump
