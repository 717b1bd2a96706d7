// The comparison metrics against the plain reference, on any bytes seen as any two tensors of one shape.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "fuzz_view.h"
#include "math/layout/strided_copy.h"
#include "math/metrics/metrics.h"

namespace {

using namespace opdump;
using fuzz::require;
using math::Metrics;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Whether squares of elements overflow or lose digits to underflow: in each implementation in its own way.
bool has_extremes(const model::TensorView& view) {
  if (view.dtype != model::DType::float64 && view.dtype != model::DType::complex128) return false;
  std::vector<double> numbers(view.byte_count() / sizeof(double));
  math::copy_row_major(view, std::as_writable_bytes(std::span(numbers)));
  return std::ranges::any_of(
      numbers, [](double x) { return x != 0 && (std::abs(x) < 1e-140 || std::abs(x) > 1e140); });
}

// Equal but for the rounding of sums.
bool near(double a, double b) {
  if (same(a, b) || !std::isfinite(a) || !std::isfinite(b)) return true;
  return std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b));
}

void require_same(const Metrics& fast, const Metrics& plain, bool with_squares) {
  require(fast.count == plain.count && fast.mismatch_count == plain.mismatch_count);
  require(fast.nan_mismatch_count == plain.nan_mismatch_count);
  require(same(fast.max_abs, plain.max_abs) && same(fast.max_rel, plain.max_rel));
  require(fast.max_abs_index == plain.max_abs_index);
  require(same(fast.max_abs_actual, plain.max_abs_actual) && same(fast.max_abs_golden, plain.max_abs_golden));
  require(near(fast.mean_abs, plain.mean_abs));
  if (!with_squares) return;
  require(near(fast.rmse, plain.rmse));
  require(near(fast.relative_l2, plain.relative_l2) && near(fast.cosine, plain.cosine));
}

model::DType take_dtype(FuzzedDataProvider& bytes) {
  return static_cast<model::DType>(bytes.ConsumeIntegralInRange(0, model::kDTypeCount - 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  const model::DType actual_dtype = take_dtype(bytes), golden_dtype = take_dtype(bytes);
  const math::Tolerance tolerance{bytes.ConsumeProbability<double>(), bytes.ConsumeProbability<double>()};
  const auto actual = fuzz::take_tensor(bytes, actual_dtype);
  if (!actual) return 0;
  const std::uint64_t bits = model::dtype_info(golden_dtype).bits;
  std::vector<std::byte> memory((actual->view.element_count() * bits + 7) / 8);
  const std::vector<std::uint8_t> pattern = bytes.ConsumeRemainingBytes<std::uint8_t>();
  for (std::size_t i = 0; i < memory.size() && !pattern.empty(); ++i)
    memory[i] = static_cast<std::byte>(pattern[i % pattern.size()]);
  const auto golden = model::TensorView::row_major(golden_dtype, actual->view.shape, memory.data());
  const auto metrics = math::compare_tensors(actual->view, golden, tolerance);
  if (metrics)
    require_same(*metrics, math::compare_tensors_reference(actual->view, golden, tolerance),
                 !has_extremes(actual->view) && !has_extremes(golden));
  return 0;
}
