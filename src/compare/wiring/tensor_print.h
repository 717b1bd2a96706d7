// A few numbers that describe what is in a tensor, whatever the order of its elements and however its last
// digits were rounded: equal for a tensor and its transpose, and nearly equal for the same tensor of another
// framework.
#pragma once

#include <cstdint>
#include <optional>

#include "compare/wiring/content.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

struct TensorPrint {
  Fingerprint exact = {};  // of the bits: equal within one run only
  double mean = 0, norm = 0, least = 0, greatest = 0;

  // Elements that differ: a tensor of zeros resembles every other one.
  bool is_distinctive() const;
};

// None if the slot has no tensor, or one that has no statistics.
std::optional<TensorPrint> print_of(const dump::Slot& slot);

// The largest relative difference of the numbers; infinite where the counts differ or a number is not finite.
double distance(const TensorPrint& a, const TensorPrint& b);

// The distance of a tensor and what quantising makes of it. Quantising moves the extremes by up to half a
// step, which does not count; extremes farther apart than that are infinitely far apart.
double quantised_distance(const TensorPrint& a, const TensorPrint& b);

}  // namespace opdump::compare
