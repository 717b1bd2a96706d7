#include "compare/across/tensor_print.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/stats/stats.h"

namespace opdump::compare {

bool TensorPrint::is_distinctive() const {
  constexpr std::uint64_t kFewest = 4;
  return exact.count >= kFewest && std::isfinite(norm) && greatest > least;
}

std::optional<TensorPrint> print_of(const dump::Slot& slot) {
  const auto exact = fingerprint_of(slot);
  if (!exact) return std::nullopt;
  const auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
  if (!tensor || !math::has_statistics(tensor->view().dtype)) return std::nullopt;
  const math::Statistics statistics =
      math::finish(math::partial_stats(tensor->view(), {.extremes = true, .sum = true, .squares = true}));
  return TensorPrint{.exact = *exact,
                     .mean = statistics.avg,
                     .norm = statistics.l2norm,
                     .least = statistics.min,
                     .greatest = statistics.max};
}

double distance(const TensorPrint& a, const TensorPrint& b) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (a.exact.count != b.exact.count || !std::isfinite(a.norm) || !std::isfinite(b.norm)) return kFar;
  const double norm = std::max(a.norm, b.norm);
  const double magnitude =
      std::max({std::abs(a.least), std::abs(a.greatest), std::abs(b.least), std::abs(b.greatest)});
  if (norm == 0) return 0;
  const double mean_square = norm / std::sqrt(static_cast<double>(a.exact.count));
  return std::max({std::abs(a.norm - b.norm) / norm, std::abs(a.mean - b.mean) / mean_square,
                   std::abs(a.least - b.least) / magnitude, std::abs(a.greatest - b.greatest) / magnitude});
}

}  // namespace opdump::compare
