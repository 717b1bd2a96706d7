#include "math/stats/stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "math/convert.h"
#include "math/float_environment.h"
#include "math/memory_walk.h"
#include "math/stats/stats_kernels.h"

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kBlock = 4096;       // elements gathered or unpacked at a time
constexpr std::int64_t kWorthARow = 1024;  // shorter rows are gathered into blocks first

// The NaN that the hardware makes of inf - inf or 0 / 0: negative on x86, positive elsewhere.
double hardware_nan() {
#if defined(__x86_64__) || defined(__i386__)
  return -std::numeric_limits<double>::quiet_NaN();
#else
  return std::numeric_limits<double>::quiet_NaN();
#endif
}

// The sign bit of the first element, in row-major order, that `matches`; elements are seen as their bits.
template <typename Bits, typename Matches>
bool first_is_negative(const TensorView& view, Matches matches) {
  alignas(64) std::array<std::byte, kBlock * sizeof(Bits)> buffer;
  RowMajorReader reader(view);
  while (reader.remaining() > 0) {
    const std::size_t count = std::min<std::uint64_t>(reader.remaining(), kBlock);
    const std::byte* block = reader.next(count, buffer.data());
    for (std::size_t i = 0; i < count; ++i) {
      Bits bits;
      std::memcpy(&bits, block + i * sizeof bits, sizeof bits);
      if (matches(bits)) return bits >> (sizeof bits * 8 - 1) != 0;
    }
  }
  return false;
}

template <typename Bits>
void find_signs(const TensorView& view, Bits infinity, StatPartial& part) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  const auto is_zero = [](Bits bits) { return (bits & kMagnitude) == 0; };
  const auto is_nan = [infinity](Bits bits) { return (bits & kMagnitude) > infinity; };
  if (part.has_nan) part.nan_negative = first_is_negative<Bits>(view, is_nan);
  if (part.max != 0 && part.min != 0) return;
  const double zero = first_is_negative<Bits>(view, is_zero) ? -0.0 : 0.0;
  if (part.max == 0) part.max = zero;
  if (part.min == 0) part.min = zero;
}

// What depends on the order of the elements, which the fast passes ignore: the sign of the first NaN and of
// the first zero. Only floats have either, and the search usually ends soon.
void find_signs(const TensorView& view, StatPartial& part) {
  switch (view.dtype) {
    case DType::float16:
      return find_signs<std::uint16_t>(view, 0x7c00, part);
    case DType::bfloat16:
      return find_signs<std::uint16_t>(view, 0x7f80, part);
    case DType::float32:
      return find_signs<std::uint32_t>(view, 0x7f800000, part);
    case DType::float64:
      return find_signs<std::uint64_t>(view, 0x7ff0000000000000, part);
    default:
      return;
  }
}

void add_packed(const TensorView& view, StatNeeds needs, StatPartial& part) {
  std::array<std::byte, kBlock> buffer;
  const std::uint64_t total = view.element_count();
  const model::DTypeInfo& info = model::dtype_info(view.dtype);
  const bool is_signed = info.kind == model::DTypeKind::signed_integer;
  for (std::uint64_t i = 0; i < total; i += kBlock) {
    const std::size_t count = std::min<std::uint64_t>(kBlock, total - i);
    unpack_integers(view.dtype, view.data + i * info.bits / 8, buffer.data(), count);
    add_dense(is_signed ? DType::int8 : DType::uint8, buffer.data(), count, needs, part);
  }
}

void add_gathered(const TensorView& view, StatNeeds needs, StatPartial& part) {
  alignas(64) std::array<std::byte, kBlock * sizeof(double)> buffer;
  RowMajorReader reader(view);
  const std::size_t last = view.shape.rank() - 1;
  const bool rows = view.strides[last] == 1 && view.shape[last] >= kWorthARow;
  const std::uint64_t step = rows ? static_cast<std::uint64_t>(view.shape[last]) : kBlock;
  while (reader.remaining() > 0) {
    const std::size_t count = std::min(reader.remaining(), step);
    add_dense(view.dtype, reader.next(count, buffer.data()), count, needs, part);
  }
}

void add_strided(const TensorView& view, StatNeeds needs, StatPartial& part) {
  const MemoryOrder order = memory_order(view);
  if (order.view.is_contiguous())
    add_dense(view.dtype, order.view.data, order.view.element_count(), needs, part);
  else
    add_gathered(order.view, needs, part);
  const std::uint64_t repeats = order.repeats;
  part.sum *= static_cast<double>(repeats);
  part.squares *= static_cast<double>(repeats);
  for (std::uint64_t* count : {&part.negative_count, &part.positive_count, &part.zero_count, &part.nan_count,
                               &part.negative_inf_count, &part.positive_inf_count})
    *count *= repeats;
}

// Statistics that were not requested are reset, so that results do not depend on the code path.
void keep_needed(StatNeeds needs, StatPartial& part) {
  const StatPartial start = make_partial();
  if (!needs.extremes) {
    part.max = start.max;
    part.min = start.min;
  }
  if (!needs.sum) part.sum = start.sum;
  if (!needs.squares) part.squares = start.squares;
}

// The dimensions from the longest stride to the shortest, so that pieces cut from the first one lie together.
TensorView as_it_lies(const TensorView& view) {
  if (view.is_contiguous()) return view;
  const MemoryOrder order = memory_order(view);
  return order.repeats == 1 && order.view.is_contiguous() ? order.view : view;
}

void split_into(const TensorView& view, std::uint64_t piece_bytes, std::vector<TensorView>& pieces) {
  const std::span<const std::int64_t> sizes = view.shape.dims();
  const std::size_t axis = static_cast<std::size_t>(
      std::ranges::find_if(sizes, [](auto size) { return size > 1; }) - sizes.begin());
  const std::uint64_t bytes = view.byte_count();
  if (bytes <= piece_bytes || axis == sizes.size()) return pieces.push_back(view);
  const auto size = static_cast<std::uint64_t>(sizes[axis]);
  const std::uint64_t wanted = std::min(size, bytes / piece_bytes + (bytes % piece_bytes != 0));
  const std::uint64_t step = (size + wanted - 1) / wanted;
  const std::int64_t element_bytes = model::dtype_info(view.dtype).bits / 8;
  for (std::uint64_t begin = 0; begin < size; begin += step) {
    TensorView piece = view;
    piece.shape.dims()[axis] = static_cast<std::int64_t>(std::min(step, size - begin));
    piece.data += static_cast<std::int64_t>(begin) * view.strides[axis] * element_bytes;
    if (step == 1)
      split_into(piece, piece_bytes, pieces);
    else
      pieces.push_back(std::move(piece));
  }
}

}  // namespace

StatPartial make_partial() {
  StatPartial part{};
  part.max = -kInfinity;
  part.min = kInfinity;
  return part;
}

bool has_statistics(DType dtype) {
  switch (model::dtype_info(dtype).kind) {
    case model::DTypeKind::none:
    case model::DTypeKind::complex:
      return false;
    case model::DTypeKind::floating:
      return model::dtype_info(dtype).bits >= 16;
    default:
      return true;
  }
}

StatPartial partial_stats(const TensorView& view, StatNeeds needs) {
  StatPartial part = make_partial();
  const std::uint64_t count = view.element_count();
  part.count = count;
  if (count == 0 || needs == StatNeeds{}) return part;
  const FloatEnvironment environment;
  if (model::dtype_info(view.dtype).bits < 8)
    add_packed(view, needs, part);
  else if (view.is_contiguous())
    add_dense(view.dtype, view.data, count, needs, part);
  else
    add_strided(view, needs, part);
  keep_needed(needs, part);
  find_signs(view, part);
  return part;
}

void merge(StatPartial& whole, const StatPartial& part) {
  if (part.max > whole.max) whole.max = part.max;
  if (part.min < whole.min) whole.min = part.min;
  whole.sum += part.sum;
  whole.squares += part.squares;
  whole.count += part.count;
  whole.negative_count += part.negative_count;
  whole.positive_count += part.positive_count;
  whole.zero_count += part.zero_count;
  whole.nan_count += part.nan_count;
  whole.negative_inf_count += part.negative_inf_count;
  whole.positive_inf_count += part.positive_inf_count;
  if (!whole.has_nan) whole.nan_negative = part.nan_negative;
  whole.has_nan |= part.has_nan;
}

Statistics finish(const StatPartial& whole) {
  Statistics result{};
  result.max = result.max_number = whole.max;
  result.min = result.min_number = whole.min;
  result.avg = whole.count == 0 ? hardware_nan() : whole.sum / static_cast<double>(whole.count);
  result.l2norm = std::sqrt(whole.squares);
  if (std::isnan(result.avg)) result.avg = hardware_nan();  // inf - inf
  if (whole.has_nan) {
    const double nan =
        std::copysign(std::numeric_limits<double>::quiet_NaN(), whole.nan_negative ? -1.0 : 1.0);
    result.max = result.min = result.avg = result.l2norm = nan;
  }
  result.count = whole.count;
  result.negative_count = whole.negative_count;
  result.positive_count = whole.positive_count;
  result.zero_count = whole.zero_count;
  result.nan_count = whole.nan_count;
  result.negative_inf_count = whole.negative_inf_count;
  result.positive_inf_count = whole.positive_inf_count;
  return result;
}

std::vector<TensorView> split_view(const TensorView& view, std::uint64_t piece_bytes) {
  std::vector<TensorView> pieces;
  const bool packed = model::dtype_info(view.dtype).bits < 8;
  const TensorView ordered = packed ? view : as_it_lies(view);
  if (packed || view.element_count() == 0)
    pieces.push_back(view);
  else
    split_into(ordered, std::max<std::uint64_t>(piece_bytes, 1), pieces);
  return pieces;
}

}  // namespace opdump::math
