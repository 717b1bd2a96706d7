// Overflow mode: whether a tensor has an element that is infinite or not a number. What one operator wrote
// and others read is examined once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "capture/jobs/pipeline.h"
#include "capture/jobs/reuse_table.h"
#include "capture/operand.h"
#include "capture/recording_rules.h"
#include "capture/recording_state.h"
#include "model/graph.h"

namespace opdump::capture {

// The dtypes that can overflow; integers wrap around and show nothing.
bool can_overflow(model::DType dtype);

bool starts_with_nan(const model::TensorView& view);

bool is_non_finite(const model::Argument& argument);

// Thread-safe.
class OverflowCheck {
 public:
  OverflowCheck(const RecordingRules& rules, const RecordingState& state, Pipeline& pipeline)
      : rules_(rules), state_(state), pipeline_(pipeline) {}

  bool overflows(const Operand& operand);
  // The index of the first one that does.
  std::optional<std::uint32_t> find(std::span<const Operand> operands);
  void begin_step() { known_.begin_step(); }

 private:
  const RecordingRules& rules_;
  const RecordingState& state_;
  Pipeline& pipeline_;
  ReuseTable known_{false};  // extremes
};

}  // namespace opdump::capture
