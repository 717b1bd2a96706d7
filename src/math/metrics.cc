#include "math/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "math/convert.h"
#include "math/float_environment.h"
#include "math/lane_reader.h"
#include "math/metrics_kernels.h"

namespace opdump::math {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kBlock = kLaneBlock;

// Everything that is known of the pairs seen so far.
struct State {
  Tolerance tolerance;
  PairSums sums;
  Metrics metrics;
  std::uint64_t seen = 0;  // pairs

  void note_worst(double abs, double actual, double golden, std::uint64_t index) {
    metrics.max_abs = abs;
    metrics.max_abs_index = index;
    metrics.max_abs_actual = actual;
    metrics.max_abs_golden = golden;
  }

  // One pair, with all the rules for NaN and inf.
  void add_pair(double actual, double golden) {
    const std::uint64_t index = seen++;
    if (std::isfinite(actual) && std::isfinite(golden)) {
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
    if (!std::isfinite(block.actual_squares) || !std::isfinite(block.golden_squares)) {
      for (std::size_t i = 0; i < count; ++i) add_pair(actual[i], golden[i]);
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
      return std::abs(static_cast<double>(actual[i]) - static_cast<double>(golden[i]));
    };
    while (difference() != abs) ++i;
    note_worst(abs, actual[i], golden[i], seen + i);
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
  const bool far = result.nan_mismatch_count > 0;
  const auto count = static_cast<double>(std::max<std::uint64_t>(result.count, 1));
  result.max_rel = far ? kInfinity : sums.max_rel;
  result.mean_abs = far ? kInfinity : sums.differences / count;
  result.rmse = far ? kInfinity : std::sqrt(sums.difference_squares / count);
  result.relative_l2 = far ? kInfinity : relative_l2(sums);
  return result;
}

template <typename Lane>
Metrics compare_lanes(const TensorView& actual, const TensorView& golden, Tolerance tolerance) {
  LaneReader<Lane> actual_lanes(actual), golden_lanes(golden);
  State state;
  state.tolerance = tolerance;
  const std::uint64_t count = actual.element_count();
  for (std::uint64_t i = 0; i < count; i += kBlock) {
    const std::size_t block = std::min<std::uint64_t>(kBlock, count - i);
    const Lane* a = actual_lanes.next(block);
    const Lane* g = golden_lanes.next(block);
    if (i == 0) state.note_worst(0, a[0], g[0], 0);
    state.add_block(a, g, block);
  }
  return finish(state);
}

Metrics compare_any(const TensorView& actual, const TensorView& golden, Tolerance tolerance) {
  const FloatEnvironment environment;
  return fits_float(actual.dtype) && fits_float(golden.dtype)
             ? compare_lanes<float>(actual, golden, tolerance)
             : compare_lanes<double>(actual, golden, tolerance);
}

bool is_complex(const TensorView& view) {
  return model::dtype_info(view.dtype).kind == model::DTypeKind::complex;
}

DType part_dtype(DType dtype) {
  if (dtype == DType::complex32) return DType::float16;
  return dtype == DType::complex64 ? DType::float32 : DType::float64;
}

// The same memory with a last dimension of real and imaginary part.
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
      return Error(Code::unsupported, "undefined has no arithmetic");
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

Result<Metrics> compare_tensors(const TensorView& actual, const TensorView& golden, Tolerance tolerance) {
  OPDUMP_CHECK_OK(check_comparable(actual, golden));
  const bool complex = is_complex(actual);
  Metrics metrics = compare_any(as_reals(actual), as_reals(golden), tolerance);
  if (complex) metrics.max_abs_index /= 2;
  return metrics;
}

}  // namespace opdump::math
