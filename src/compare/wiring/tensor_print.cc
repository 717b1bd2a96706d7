#include "compare/wiring/tensor_print.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/stats/stats.h"

namespace opdump::compare {

bool TensorPrint::is_distinctive() const {
  constexpr std::uint64_t kFewest = 2;
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

namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

double distance_of_sums(const TensorPrint& a, const TensorPrint& b) {
  if (a.exact.count != b.exact.count || !std::isfinite(a.norm) || !std::isfinite(b.norm)) return kFar;
  const double norm = std::max(a.norm, b.norm);
  if (norm == 0) return 0;
  const double mean_square = norm / std::sqrt(static_cast<double>(a.exact.count));
  return std::max(std::abs(a.norm - b.norm) / norm, std::abs(a.mean - b.mean) / mean_square);
}

double distance_of_extremes(const TensorPrint& a, const TensorPrint& b) {
  const double magnitude =
      std::max({std::abs(a.least), std::abs(a.greatest), std::abs(b.least), std::abs(b.greatest)});
  if (magnitude == 0) return 0;
  return std::max(std::abs(a.least - b.least), std::abs(a.greatest - b.greatest)) / magnitude;
}

}  // namespace

double distance(const TensorPrint& a, const TensorPrint& b) {
  return std::max(distance_of_sums(a, b), distance_of_extremes(a, b));
}

double quantised_distance(const TensorPrint& a, const TensorPrint& b) {
  constexpr double kMost = 1.0 / 50;  // half a step of 8 bits is a fifth of it
  return distance_of_extremes(a, b) <= kMost ? distance_of_sums(a, b) : kFar;
}

}  // namespace opdump::compare
