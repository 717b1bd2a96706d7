// A tensor of a call, as the engine reports it. See opdump_tensor in opdump.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/graph.h"
#include "model/shape.h"
#include "model/tensor_view.h"

namespace opdump::capture {

struct Operand {
  model::TensorView view;
  std::uint32_t index = 0;
  std::uint64_t content = 0;
  void* owner = nullptr;
  std::string_view undumped;
  std::uint64_t value = 0;
  const char* name = nullptr;  // lives as long as the session: see Session::keep_name
  model::GraphParameter::Role role = model::GraphParameter::Role::input;
  std::string_view format;      // of its dimensions, as model::format_name spells it; empty if unknown
  model::Shape original_shape;  // see dump::SlotAddress
  std::uint64_t block = 0;      // and where in it: see opdump_tensor; 0: unknown
  std::int64_t block_offset = 0;
  std::uint64_t version = 0;           // of what the block has; 0: `content` says it
  bool is_late = false;                // Lender::wait() before anybody reads the data
  const double* statistics = nullptr;  // instead of the data: see opdump_tensor
};

}  // namespace opdump::capture
