// The one-pass statistics against the plain reference, on any bytes seen as any tensor.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "fuzz_view.h"
#include "math/hash.h"
#include "math/layout/strided_copy.h"
#include "math/stats/stats.h"

namespace {

using namespace opdump;
using fuzz::require;
using math::StatPartial;

bool same(double a, double b) { return std::signbit(a) == std::signbit(b) && a == b; }

// Sums of another order: near, measured by the sum of the magnitudes; anything goes where that overflows, and
// the last places of subnormal numbers are all they have.
bool near(double a, double b, double scale) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return !(scale < std::numeric_limits<double>::max()) || std::abs(a - b) <= 1e-9 * scale + 1e-318;
}

void require_same(const StatPartial& fast, const StatPartial& plain) {
  require(same(fast.max, plain.max) && same(fast.min, plain.min));
  require(fast.count == plain.count && fast.zero_count == plain.zero_count);
  require(fast.negative_count == plain.negative_count && fast.positive_count == plain.positive_count);
  require(fast.nan_count == plain.nan_count);
  require(fast.negative_inf_count == plain.negative_inf_count);
  require(fast.positive_inf_count == plain.positive_inf_count);
  require(fast.has_nan == plain.has_nan);
  require(!fast.has_nan || fast.nan_negative == plain.nan_negative);
  const auto count = static_cast<double>(plain.count);
  const double largest = std::max(std::abs(plain.max), std::abs(plain.min));
  require(near(fast.squares, plain.squares, count * largest * largest));
  require(near(fast.sum, plain.sum, count * largest));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  const auto dtype = static_cast<model::DType>(bytes.ConsumeIntegralInRange(0, model::kDTypeCount - 1));
  if (!math::has_statistics(dtype)) return 0;
  const auto piece_bytes = bytes.ConsumeIntegralInRange<std::uint64_t>(1, 10000);
  const auto tensor = fuzz::take_tensor(bytes, dtype);
  if (!tensor) return 0;
  constexpr math::StatNeeds kAll{true, true, true, true};
  const StatPartial plain = math::partial_stats_reference(tensor->view, kAll);
  require_same(math::partial_stats(tensor->view, kAll), plain);

  // A copy is the same tensor, and so are the pieces of it put together.
  std::vector<std::byte> copy(tensor->view.byte_count());
  math::copy_row_major(tensor->view, copy);
  const auto dense = model::TensorView::row_major(dtype, tensor->view.shape, copy.data());
  StatPartial whole = math::make_partial();
  for (const model::TensorView& piece : math::split_view(dense, piece_bytes))
    math::merge(whole, math::partial_stats(piece, kAll));
  require_same(whole, plain);
  require(math::md5_hex(dense) == math::md5_hex(tensor->view));
  return 0;
}
