#include "arrays/pieces.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "math/convert.h"
#include "math/memory_walk.h"

namespace opdump::arrays {
namespace {

using model::DType;
using model::TensorView;

constexpr std::uint64_t kPieceElements = 1 << 20;

std::uint64_t bytes_of(DType dtype, std::uint64_t count) {
  const std::uint64_t bits = model::dtype_info(dtype).bits;
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

bool is_small_float(DType dtype) {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  return info.kind == model::DTypeKind::floating && info.bits <= 8;
}

// What msaccucmp makes of the 8-bit floats that it gets wrong (docs/compatibility.md).
double wrong_value(DType dtype, unsigned bits, double right) {
  const double sign = bits >= 0x80 ? -1 : 1;
  const unsigned magnitude = bits & 0x7F;
  if (dtype == DType::float8_e4m3 && magnitude == 0x7F) return sign * 480;
  if (dtype == DType::float8_e5m2 && magnitude == 0x7C) return HUGE_VAL;
  if (dtype != DType::hifloat8) return right;
  if (magnitude == 0x6F) return HUGE_VAL;
  // The prefixes 001 and 0001 are taken for two bits, so that the mantissa has 4 and 5 bits.
  if (magnitude >= 0x10 && magnitude < 0x20) return sign * 0.5 * (1 + (magnitude & 0xF) / 16.0);
  if (magnitude >= 0x08 && magnitude < 0x10) return sign * (1 + (magnitude & 0x1F) / 32.0);
  return right;
}

// Elements that lie row by row.
class PlainPieces final : public ArrayPieces {
 public:
  explicit PlainPieces(Elements elements)
      : elements_(std::move(elements)), is_same_(file_dtype(elements_.dtype) == elements_.dtype) {
    if (elements_.range) elements_.range->bytes = bytes_of(elements_.dtype, elements_.count);
  }

  Result<std::span<const std::byte>> next() override {
    const std::uint64_t count = std::min(kPieceElements, elements_.count - done_);
    const std::byte* in = elements_.bytes.data() + bytes_of(elements_.dtype, done_);
    done_ += count;
    if (is_same_) return std::span(in, bytes_of(elements_.dtype, count));
    buffer_.resize(bytes_of(file_dtype(elements_.dtype), count));
    if (count > 0) convert_to_file(elements_, in, buffer_.data(), count);
    return std::span<const std::byte>(buffer_);
  }

  std::optional<FileRange> range() const override { return is_same_ ? elements_.range : std::nullopt; }

 private:
  Elements elements_;
  bool is_same_;
  std::uint64_t done_ = 0;
  std::vector<std::byte> buffer_;
};

// A view with any strides.
class StridedPieces final : public ArrayPieces {
 public:
  explicit StridedPieces(const TensorView& view)
      : reader_(view), dtype_(view.dtype), size_(model::dtype_info(view.dtype).bits / 8) {}

  Result<std::span<const std::byte>> next() override {
    const std::uint64_t count = std::min(kPieceElements, reader_.remaining());
    gathered_.resize(count * size_);
    if (count == 0) return std::span<const std::byte>();
    const std::byte* in = reader_.next(count, gathered_.data());
    if (file_dtype(dtype_) == dtype_) return std::span(in, count * size_);
    converted_.resize(bytes_of(file_dtype(dtype_), count));
    convert_to_file({dtype_, count, {}, {}, false}, in, converted_.data(), count);
    return std::span<const std::byte>(converted_);
  }

 private:
  math::RowMajorReader reader_;
  DType dtype_;
  std::size_t size_;
  std::vector<std::byte> gathered_, converted_;
};

}  // namespace

void convert_to_file(const Elements& kind, const std::byte* in, std::byte* out, std::uint64_t count) {
  if (!is_small_float(kind.dtype)) return math::convert_to_array(kind.dtype, in, out, count);
  auto* const values = reinterpret_cast<double*>(out);
  math::convert_elements(kind.dtype, in, values, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (kind.is_bug_compatible)
      values[i] = wrong_value(kind.dtype, std::to_integer<unsigned>(in[i]), values[i]);
    if (std::isnan(values[i])) values[i] = std::numeric_limits<double>::quiet_NaN();  // NumPy's
  }
}

model::DType file_dtype(DType dtype) {
  return is_small_float(dtype) ? DType::float64 : math::array_dtype(dtype);
}

std::unique_ptr<ArrayPieces> make_pieces(Elements elements) {
  return std::make_unique<PlainPieces>(std::move(elements));
}

std::unique_ptr<ArrayPieces> make_pieces(const TensorView& view, std::optional<FileRange> range) {
  if (!view.is_contiguous()) return std::make_unique<StridedPieces>(view);
  return make_pieces(
      Elements{view.dtype, view.element_count(), {view.data, view.byte_count()}, std::move(range), false});
}

}  // namespace opdump::arrays
