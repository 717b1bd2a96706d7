#include "math/metrics/numpy_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/worker_pool.h"
#include "math/float_environment.h"
#include "math/lane_reader.h"
#include "math/metrics/numpy_metrics_kernels.h"

namespace opdump::math {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;

constexpr std::uint64_t kBuffer = 8192;           // elements that NumPy sums before it adds them to the rest
constexpr std::uint64_t kTaskElements = 1 << 18;  // a thread's share
constexpr std::uint64_t kWaveElements = 256 << 18;  // shared out at a time, so that few sums are kept
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct PairReader {
  LaneReader<float> actual, golden;
  PairReader(const TensorView& a, const TensorView& g) : actual(a), golden(g) {}
};

template <typename Sums, typename Branch>
Sums sum_tree(PairReader& reader, std::size_t count, const Branch& branch) {
  if (count <= kBranch) {
    const float* actual = reader.actual.next_anywhere(count);
    return branch(actual, reader.golden.next_anywhere(count), count);
  }
  const std::size_t left = left_half(count);
  Sums sums = sum_tree<Sums>(reader, left, branch);
  sums.add(sum_tree<Sums>(reader, count - left, branch));
  return sums;
}

TensorView part_of(const TensorView& view, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t bytes = model::dtype_info(view.dtype).bits / 8;
  return TensorView::row_major(view.dtype, {static_cast<std::int64_t>(count)}, view.data + first * bytes);
}

bool can_split(const TensorView& view) {
  return view.is_contiguous() && model::dtype_info(view.dtype).bits >= 8;
}

// Two real tensors of as many elements.
class TensorPair {
 public:
  TensorPair(TensorView actual, TensorView golden, unsigned threads)
      : actual_(std::move(actual)),
        golden_(std::move(golden)),
        count_(actual_.element_count()),
        threads_(threads) {}

  std::uint64_t count() const { return count_; }
  const TensorView& actual() const { return actual_; }
  const TensorView& golden() const { return golden_; }

  // branch(actual, golden, count) of all branches, summed as NumPy does.
  template <typename Sums, typename Branch>
  Sums sum(const Branch& branch) const {
    Sums total;
    if (threads_ == 1 || count_ <= kTaskElements || !can_split(actual_) || !can_split(golden_)) {
      add_buffers<Sums>(actual_, golden_, branch, [&](const Sums& buffer) { total.add(buffer); });
      return total;
    }
    for (std::uint64_t first = 0; first < count_; first += kWaveElements)
      add_wave(first, std::min(kWaveElements, count_ - first), branch, total);
    return total;
  }

 private:
  // Calls use() for the sum of each buffer in order.
  template <typename Sums, typename Branch, typename Use>
  static void add_buffers(const TensorView& actual, const TensorView& golden, const Branch& branch,
                          const Use& use) {
    const FloatEnvironment environment;
    PairReader reader(actual, golden);
    const std::uint64_t count = actual.element_count();
    for (std::uint64_t i = 0; i < count; i += kBuffer)
      use(sum_tree<Sums>(reader, std::min(kBuffer, count - i), branch));
  }

  // Several threads sum buffers; one adds them up, because that order matters too.
  template <typename Sums, typename Branch>
  void add_wave(std::uint64_t first, std::uint64_t count, const Branch& branch, Sums& total) const {
    std::vector<Sums> sums((count + kBuffer - 1) / kBuffer);
    const std::uint64_t tasks = (count + kTaskElements - 1) / kTaskElements;
    parallel_for(static_cast<std::size_t>(tasks), threads_, [&](std::size_t task) {
      const std::uint64_t begin = task * kTaskElements, elements = std::min(kTaskElements, count - begin);
      Sums* out = &sums[begin / kBuffer];
      add_buffers<Sums>(part_of(actual_, first + begin, elements), part_of(golden_, first + begin, elements),
                        branch, [&](const Sums& buffer) { *out++ = buffer; });
    });
    const FloatEnvironment environment;
    for (const Sums& buffer : sums) total.add(buffer);
  }

  TensorView actual_, golden_;
  std::uint64_t count_ = 0;
  unsigned threads_ = 1;
};

// The mean that NumPy makes of a sum of floats.
float mean_of(float sum, std::uint64_t count) {
  return static_cast<float>(static_cast<double>(sum) / static_cast<double>(count));
}

void set_range(SideScale& scale, float min, float max) {
  const float range = max - min;
  if (range == 0) return;  // then the values stay as they are
  scale.min = min;
  scale.range = range;
}

// Every metric of the first pass but the norms, which are known, and what the second one needs.
PairScale finish_errors(const ErrorSums& sums, NumpyMetrics& metrics) {
  const std::uint64_t count = metrics.count;
  metrics.max_absolute = std::isnan(sums.difference) ? kNan : sums.max_difference;
  metrics.accumulated_relative = sums.relative;
  metrics.relative_euclidean = std::sqrt(sums.difference_squares / sums.golden_squares);
  metrics.mean_absolute = mean_of(sums.difference, count);
  metrics.root_mean_square = std::sqrt(mean_of(sums.difference_squares, count));
  metrics.max_relative = std::isnan(sums.relative) ? kNan : sums.max_relative;
  metrics.mean_relative = mean_of(sums.relative, count);
  metrics.actual_mean = sums.actual / static_cast<double>(count);
  metrics.golden_mean = sums.golden / static_cast<double>(count);
  PairScale scale;
  scale.actual.norm = metrics.actual_norm;
  scale.actual.mean = metrics.actual_mean;
  scale.golden.norm = metrics.golden_norm;
  scale.golden.mean = metrics.golden_mean;
  set_range(scale.actual, sums.actual_min, sums.actual_max);
  set_range(scale.golden, sums.golden_min, sums.golden_max);
  return scale;
}

// True if a NaN or inf takes part in the divergence, which it makes NaN; so does a range that overflows.
bool is_far(const ErrorSums& sums) {
  for (const float range : {sums.actual_max - sums.actual_min, sums.golden_max - sums.golden_min})
    if (!std::isfinite(range)) return true;
  return std::isnan(sums.actual_squares) || std::isnan(sums.golden_squares);
}

float divergence_of(const TensorPair& pair, const PairScale& scale) {
  // Sums that overflow make probabilities of 0.
  if (std::isinf(scale.actual.weight)) return kNan;
  if (std::isinf(scale.golden.weight)) return std::numeric_limits<float>::infinity();
  const auto total = pair.sum<Divergence>([&](const float* actual, const float* golden, std::size_t count) {
    return sum_divergence(actual, golden, count, scale);
  });
  return std::abs(total.sum) < 0x1p-52f ? 0 : total.sum;
}

void finish_spread(const SpreadSums& sums, NumpyMetrics& metrics) {
  metrics.cosine = sums.product > 1 ? 1 : sums.product;
  const auto count = static_cast<double>(metrics.count);
  metrics.actual_deviation = std::sqrt(sums.actual_squares / count);
  metrics.golden_deviation = std::sqrt(sums.golden_squares / count);
}

// The real parts of a complex tensor.
TensorView real_part(const TensorView& view) {
  if (model::dtype_info(view.dtype).kind != model::DTypeKind::complex) return view;
  TensorView part = view;
  part.dtype = view.dtype == DType::complex32   ? DType::float16
               : view.dtype == DType::complex64 ? DType::float32
                                                : DType::float64;
  for (std::int64_t& stride : part.strides.dims()) stride *= 2;
  return part;
}

Result<> check_pair(const TensorView& actual, const TensorView& golden) {
  for (const TensorView* view : {&actual, &golden})
    if (model::dtype_info(view->dtype).kind == model::DTypeKind::none)
      return Error(Code::unsupported, "a tensor of undefined dtype cannot be compared");
  if (actual.element_count() == golden.element_count()) return ok();
  return Error(Code::unsupported, "shape " + model::format_shape(actual.shape) + " against " +
                                      model::format_shape(golden.shape) + "; expected as many elements");
}

}  // namespace

Result<NumpyMetrics> numpy_metrics(const TensorView& actual, const TensorView& golden, NumpyMetricNeeds needs,
                                   unsigned threads) {
  OPDUMP_CHECK_OK(check_pair(actual, golden));
  const TensorPair pair(real_part(actual), real_part(golden), threads);
  NumpyMetrics metrics;
  metrics.count = pair.count();
  ErrorSums errors;
  if (pair.count() > 0)
    errors = pair.sum<ErrorSums>(
        [](const float* a, const float* g, std::size_t n) { return sum_errors(a, g, n); });
  const FloatEnvironment environment;
  metrics.actual_norm = std::sqrt(errors.actual_squares);
  metrics.golden_norm = std::sqrt(errors.golden_squares);
  PairScale scale = finish_errors(errors, metrics);
  const bool diverges = needs.divergence && pair.count() > 0;
  if (diverges && is_far(errors)) metrics.divergence = kNan;
  needs.divergence = diverges && !is_far(errors);
  SpreadSums spread;
  if (pair.count() > 0 && (needs.cosine || needs.deviation || needs.divergence))
    spread = pair.sum<SpreadSums>(
        [&](const float* a, const float* g, std::size_t n) { return sum_spread(a, g, n, scale, needs); });
  finish_spread(spread, metrics);
  scale.actual.weight = spread.actual_weight;
  scale.golden.weight = spread.golden_weight;
  if (needs.divergence) metrics.divergence = divergence_of(pair, scale);
  return metrics;
}

BooleanCosine numpy_boolean_cosine(const TensorView& actual, const TensorView& golden) {
  std::uint64_t actual_true = 0, golden_true = 0, both = 0;
  LaneReader<float> actual_lanes(actual), golden_lanes(golden);
  const std::uint64_t count = actual.element_count();
  for (std::uint64_t i = 0; i < count; i += kLaneBlock) {
    const std::size_t block = std::min<std::uint64_t>(kLaneBlock, count - i);
    const float *a = actual_lanes.next(block), *g = golden_lanes.next(block);
    for (std::size_t k = 0; k < block; ++k) {
      actual_true += a[k] != 0;
      golden_true += g[k] != 0;
      both += a[k] != 0 && g[k] != 0;
    }
  }
  BooleanCosine result{std::sqrt(static_cast<double>(actual_true)),
                       std::sqrt(static_cast<double>(golden_true))};
  if (both > 0) result.cosine = static_cast<double>(both) / (result.actual_norm * result.golden_norm);
  result.cosine = std::min(result.cosine, 1.0);
  return result;
}

}  // namespace opdump::math
