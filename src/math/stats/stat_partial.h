// Statistics of a part of a tensor, before they are finished (stats.h).
#pragma once

#include <cstdint>

namespace opdump::math {

// The statistics that a caller needs. Others cost nothing and keep their initial value.
struct StatNeeds {
  bool extremes = false;  // max, min
  bool sum = false;       // avg
  bool squares = false;   // l2norm
  bool counts = false;    // the six counts
  // Of these, for callers that need no others: NaN and infinities cost nothing, zeros half of all.
  bool special_counts = false, zero_count = false;
  bool operator==(const StatNeeds&) const = default;
};

// The result of one pass over a part of a tensor; parts can be merged in any order.
struct StatPartial {
  double max, min;  // of the elements that are not NaN; see make_partial
  double sum, squares;
  std::uint64_t count;  // always known
  std::uint64_t negative_count, positive_count, zero_count;
  std::uint64_t nan_count, negative_inf_count, positive_inf_count;
  bool has_nan;       // always known when anything is needed
  bool nan_negative;  // sign bit of the first NaN of the part; meaningful if has_nan
};
StatPartial make_partial();

}  // namespace opdump::math
