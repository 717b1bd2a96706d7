// partial_stats one element at a time, written to be seen to be right. It shares no code with the fast paths
// but the conversion of a single element.
#include <cmath>

#include "math/convert.h"
#include "math/float_environment.h"
#include "math/stats/stats.h"

namespace opdump::math {
namespace {

void add_element(double x, StatNeeds needs, StatPartial& part) {
  if (std::isnan(x)) {
    if (!part.has_nan) part.nan_negative = std::signbit(x);
    part.has_nan = true;
  }
  if (needs.extremes) {
    if (x > part.max) part.max = x;
    if (x < part.min) part.min = x;
  }
  if (needs.sum) part.sum += x;
  if (needs.squares) part.squares += x * x;
  if (needs.counts) {
    part.negative_count += x < 0;
    part.positive_count += x > 0;
  }
  if (needs.counts || needs.zero_count) part.zero_count += x == 0;
  if (needs.counts || needs.special_counts) {
    part.nan_count += std::isnan(x);
    part.negative_inf_count += std::isinf(x) && x < 0;
    part.positive_inf_count += std::isinf(x) && x > 0;
  }
}

}  // namespace

StatPartial partial_stats_reference(const model::TensorView& view, StatNeeds needs) {
  StatPartial part = make_partial();
  part.count = view.element_count();
  if (needs == StatNeeds{}) return part;
  const FloatEnvironment environment;
  const bool packed = model::dtype_info(view.dtype).bits < 8;
  for (std::uint64_t i = 0; i < part.count; ++i) {
    std::int64_t offset = 0, rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = view.shape.rank(); axis-- > 0;) {
      offset += rest % view.shape[axis] * view.strides[axis];
      rest /= view.shape[axis];
    }
    add_element(element_as_double(view.dtype, view.data, packed ? static_cast<std::int64_t>(i) : offset),
                needs, part);
  }
  return part;
}

}  // namespace opdump::math
