// Compares the weights of two checkpoints: which parameter of the one is which of the other, and whether they
// are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weights/checkpoint.h"
#include "weights/link.h"
#include "weights/measure.h"

namespace opdump::weights {

enum class WeightVerdict : std::uint8_t {
  equal,
  equal_after,  // a change that programs make: a cast, a transposition, parts in one tensor
  differs,
  missing_in_actual,  // golden's has no partner
  missing_in_golden,
  not_compared,  // its elements could not be read, or a dump does not say that it was used
  left_out,      // nothing that a checkpoint must have: buffers that programs compute, constants of a graph
};
inline constexpr std::string_view kWeightVerdictNames[] = {
    "equal", "equal after", "differs", "not in actual", "not in golden", "not compared", "left out"};

struct WeightRow {
  WeightVerdict verdict = WeightVerdict::equal;
  TensorOwner owner = TensorOwner::model;
  std::string golden, actual;            // names; empty if there is none
  std::string golden_part, actual_part;  // "rows 64-127", if the other is a part of it
  std::vector<std::string> after;        // "transposed", "cast float32 to bfloat16"
  std::vector<std::string> notes;        // what is known of a difference
  std::optional<FoundBy> found_by;
  std::optional<WeightDistance> distance;  // of those that differ
};

struct WeightComparison {
  std::vector<WeightRow> rows;        // in the order of golden, then those that only actual has
  std::vector<std::string> problems;  // why the answer is not complete
  std::vector<std::string> remarks;
  std::size_t golden_count = 0, actual_count = 0;  // tensors

  std::size_t count(WeightVerdict verdict) const;
  bool has_difference() const;
};

WeightComparison compare_weights(const Checkpoint& golden, const Checkpoint& actual);

}  // namespace opdump::weights
