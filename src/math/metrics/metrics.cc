#include "math/metrics/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/worker_pool.h"
#include "math/convert.h"
#include "math/float_environment.h"
#include "math/lane_reader.h"
#include "math/metrics/metrics_kernels.h"

namespace opdump::math {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kBlock = kLaneBlock;
constexpr std::uint64_t kPart = 1 << 20;  // elements of a thread's share; a multiple of kBlock

// Programs write the largest number of a type, or the lowest, for infinity, and clamp what masks write, as
// -1e9, to the lowest. These are the largest numbers of two types; 0 if they are the same, or not known.
struct TypeLimits {
  double actual = 0, golden = 0;

  static TypeLimits of(const TensorView& actual, const TensorView& golden) {
    const auto a = model::largest_number(actual.dtype), g = model::largest_number(golden.dtype);
    return a && g && *a != *g ? TypeLimits{*a, *g} : TypeLimits();
  }
  bool are(double a, double g) const {
    if (a == actual) return actual > 0 && g == golden;
    const double least = std::min(actual, golden), clamped = actual < golden ? a : g;
    return least > 0 && clamped == -least && a <= -least && g <= -least && std::isfinite(a) &&
           std::isfinite(g);
  }
  bool may_be_in(const PairSums& block) const {
    const double least = std::min(actual, golden);
    return least > 0 &&
           (actual < golden ? block.actual_squares : block.golden_squares) >= 0.99 * least * least;
  }
};

// Everything that is known of the pairs seen so far.
struct State {
  Tolerance tolerance;
  TypeLimits extremes;
  PairSums sums;
  Metrics metrics;
  std::uint64_t seen = 0;   // pairs
  bool is_partial = false;  // some are in no sum

  void note_worst(double abs, double actual, double golden, std::uint64_t index) {
    metrics.max_abs = abs;
    metrics.max_abs_index = index;
    metrics.max_abs_actual = actual;
    metrics.max_abs_golden = golden;
  }

  // All of `next`, which follows.
  void add(const State& next) {
    sums.add(next.sums);
    metrics.nan_mismatch_count += next.metrics.nan_mismatch_count;
    is_partial |= next.is_partial;
    const Metrics& other = next.metrics;
    if (other.max_abs > metrics.max_abs)
      note_worst(other.max_abs, other.max_abs_actual, other.max_abs_golden, seen + other.max_abs_index);
    seen += next.seen;
  }

  // One pair, with all the rules for NaN and inf.
  void add_pair(double actual, double golden) {
    const std::uint64_t index = seen++;
    const bool is_extreme = extremes.are(actual, golden) || tolerance.is_filler(actual, golden);
    const bool is_finite = std::isfinite(actual) && std::isfinite(golden);
    is_partial |= is_extreme || !is_finite;
    if (is_extreme) return;
    if (is_finite) {
      sums.add(actual, golden, tolerance);
      const double abs = std::abs(actual - golden);
      if (abs > metrics.max_abs) note_worst(abs, actual, golden, index);
    } else if (actual != golden && !(std::isnan(actual) && std::isnan(golden))) {
      ++metrics.nan_mismatch_count;
      if (metrics.max_abs < kInfinity) note_worst(kInfinity, actual, golden, index);
    }
  }

  template <typename Lane>
  void add_block(const Lane* actual, const Lane* golden, std::size_t count) {
    const PairSums block = sum_pairs(actual, golden, count, tolerance);
    if (!std::isfinite(block.actual_squares) || !std::isfinite(block.golden_squares) ||
        extremes.may_be_in(block) || tolerance.filler != 0) {
      for (std::size_t i = 0; i < count; ++i) add_pair(load_lane(actual + i), load_lane(golden + i));
      return;
    }
    sums.add(block);
    if (block.max_abs > metrics.max_abs) find_worst(actual, golden, block.max_abs);
    seen += count;
  }

  template <typename Lane>
  void find_worst(const Lane* actual, const Lane* golden, double abs) {
    std::size_t i = 0;
    const auto difference = [&] {
      return std::abs(static_cast<double>(load_lane(actual + i)) -
                      static_cast<double>(load_lane(golden + i)));
    };
    while (difference() != abs) ++i;
    note_worst(abs, load_lane(actual + i), load_lane(golden + i), seen + i);
  }
};

double cosine(const PairSums& sums) {
  const double aa = sums.actual_squares, gg = sums.golden_squares;
  if (aa == 0 || gg == 0) return aa == gg ? 1 : 0;
  // The first form gives exactly 1 for equal tensors; the second cannot leave the range of a double.
  const double product = aa * gg;
  const double size = std::isnormal(product) ? std::sqrt(product) : std::sqrt(aa) * std::sqrt(gg);
  const double value = sums.dot / size;
  return std::isnan(value) ? value : std::clamp(value, -1.0, 1.0);
}

double relative_l2(const PairSums& sums) {
  if (sums.difference_squares == 0) return 0;
  return std::sqrt(sums.difference_squares) / std::sqrt(sums.golden_squares);
}

Metrics finish(const State& state) {
  Metrics result = state.metrics;
  const PairSums& sums = state.sums;
  result.count = state.seen;
  result.mismatch_count = sums.mismatch_count + result.nan_mismatch_count;
  result.cosine = cosine(sums);
  result.actual_norm =
      state.is_partial ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(sums.actual_squares);
  const bool far = result.nan_mismatch_count > 0;
  const auto count = static_cast<double>(std::max<std::uint64_t>(result.count, 1));
  result.max_rel = far ? kInfinity : sums.max_rel;
  result.mean_abs = far ? kInfinity : sums.differences / count;
  result.rmse = far ? kInfinity : std::sqrt(sums.difference_squares / count);
  result.relative_l2 = far ? kInfinity : relative_l2(sums);
  return result;
}

template <typename Lane>
State compare_part(const TensorView& actual, const TensorView& golden, Tolerance tolerance) {
  const FloatEnvironment environment;
  LaneReader<Lane> actual_lanes(actual), golden_lanes(golden);
  State state;
  state.tolerance = tolerance;
  state.extremes = TypeLimits::of(actual, golden);
  const std::uint64_t count = actual.element_count();
  for (std::uint64_t i = 0; i < count; i += kBlock) {
    const std::size_t block = std::min<std::uint64_t>(kBlock, count - i);
    const Lane* a = actual_lanes.next_anywhere(block);
    const Lane* g = golden_lanes.next_anywhere(block);
    if (i == 0) state.note_worst(0, load_lane(a), load_lane(g), 0);
    state.add_block(a, g, block);
  }
  return state;
}

bool has_parts(const TensorView& view) {
  return view.is_contiguous() && model::dtype_info(view.dtype).bits >= 8;
}

TensorView part_of(const TensorView& view, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t bytes = model::dtype_info(view.dtype).bits / 8;
  return TensorView::row_major(view.dtype, {static_cast<std::int64_t>(count)}, view.data + first * bytes);
}

// Parts do not depend on the thread, so that the number of threads changes no rounding.
template <typename Lane>
Metrics compare_lanes(const TensorView& actual, const TensorView& golden, Tolerance tolerance,
                      unsigned threads) {
  const std::uint64_t count = actual.element_count();
  if (count <= kPart || !has_parts(actual) || !has_parts(golden))
    return finish(compare_part<Lane>(actual, golden, tolerance));
  std::vector<State> parts((count + kPart - 1) / kPart);
  parallel_for(parts.size(), threads, [&](std::size_t i) {
    const std::uint64_t first = i * kPart, elements = std::min(kPart, count - first);
    parts[i] =
        compare_part<Lane>(part_of(actual, first, elements), part_of(golden, first, elements), tolerance);
  });
  State whole = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) whole.add(parts[i]);
  return finish(whole);
}

Metrics compare_any(const TensorView& actual, const TensorView& golden, Tolerance tolerance,
                    unsigned threads) {
  return fits_float(actual.dtype) && fits_float(golden.dtype)
             ? compare_lanes<float>(actual, golden, tolerance, threads)
             : compare_lanes<double>(actual, golden, tolerance, threads);
}

bool is_complex(const TensorView& view) {
  return model::dtype_info(view.dtype).kind == model::DTypeKind::complex;
}

DType part_dtype(DType dtype) {
  if (dtype == DType::complex32) return DType::float16;
  return dtype == DType::complex64 ? DType::float32 : DType::float64;
}

// Views the same memory with a last dimension of real and imaginary part.
TensorView as_reals(const TensorView& view) {
  if (!is_complex(view)) return view;
  std::vector<std::int64_t> sizes(view.shape.dims().begin(), view.shape.dims().end());
  std::vector<std::int64_t> strides(view.strides.dims().begin(), view.strides.dims().end());
  for (std::int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return {part_dtype(view.dtype), Shape(std::span<const std::int64_t>(sizes)),
          Shape(std::span<const std::int64_t>(strides)), view.data};
}

Result<> check_comparable(const TensorView& actual, const TensorView& golden) {
  for (const TensorView* view : {&actual, &golden})
    if (model::dtype_info(view->dtype).kind == model::DTypeKind::none)
      return Error(Code::unsupported, "a tensor of undefined dtype cannot be compared");
  if (is_complex(actual) != is_complex(golden))
    return Error(Code::unsupported, std::string(model::dtype_info(actual.dtype).name) + " against " +
                                        std::string(model::dtype_info(golden.dtype).name) +
                                        "; expected both complex or both real");
  if (actual.element_count() != golden.element_count())
    return Error(Code::unsupported, "shape " + model::format_shape(actual.shape) + " against " +
                                        model::format_shape(golden.shape) + "; expected as many elements");
  return ok();
}

}  // namespace

Result<Metrics> compare_tensors(const TensorView& actual, const TensorView& golden, Tolerance tolerance,
                                unsigned threads) {
  OPDUMP_CHECK_OK(check_comparable(actual, golden));
  const bool complex = is_complex(actual);
  Metrics metrics = compare_any(as_reals(actual), as_reals(golden), tolerance, threads);
  if (complex) metrics.max_abs_index /= 2;
  return metrics;
}

}  // namespace opdump::math
