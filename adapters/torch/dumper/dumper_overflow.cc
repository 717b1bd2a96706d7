#include "dumper/dumper_overflow.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace opdump::torch_adapter {
namespace {

// What the extreme elements of a tensor are.
struct Extremes {
  bool has_non_finite = false;    // an infinity or a NaN
  std::optional<double> largest;  // the largest finite number of the dtype, if one has this magnitude
};

// The magnitude of infinities and NaNs is above `largest`, which are bits.
template <typename Bits>
Extremes find_extremes(const void* data, std::int64_t count, Bits largest, double number) {
  const auto* bits = static_cast<const Bits*>(data);
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  constexpr std::int64_t kBlock = 4096;  // without a branch in it: the compiler takes many at once
  Extremes extremes;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    Bits reached = 0, exceeded = 0;
    for (std::int64_t i = first; i < std::min(count, first + kBlock); ++i) {
      reached |= static_cast<Bits>((bits[i] & kMagnitude) == largest);
      exceeded |= static_cast<Bits>((bits[i] & kMagnitude) > largest);
    }
    if (reached) extremes.largest = number;
    if (exceeded) extremes.has_non_finite = true;
  }
  return extremes;
}

// The elements as real numbers row by row; undefined if there are none, or none that can overflow.
at::Tensor reals_of(const at::Tensor& tensor) {
  if (!tensor.is_floating_point() && !tensor.is_complex()) return {};
  const at::Tensor elements = elements_of(tensor);
  return elements.defined() && elements.is_complex() ? at::view_as_real(elements) : elements;
}

Extremes extremes_of(const at::Tensor& tensor) {
  const at::Tensor reals = reals_of(tensor);
  if (!reals.defined()) return {};
  const void* data = reals.data_ptr();
  switch (reals.scalar_type()) {
    case at::kFloat:
      return find_extremes<std::uint32_t>(data, reals.numel(), 0x7f7fffff, 0x1.fffffep127);
    case at::kDouble:
      return find_extremes<std::uint64_t>(data, reals.numel(), 0x7fefffffffffffff, 0x1.fffffffffffffp1023);
    case at::kHalf:
      return find_extremes<std::uint16_t>(data, reals.numel(), 0x7bff, 65504);
    case at::kBFloat16:
      return find_extremes<std::uint16_t>(data, reals.numel(), 0x7f7f, 0x1.fep127);
    default:
      return {};
  }
}

Extremes extremes_of(const NamedValue& value) {
  if (value.type == ValueType::tensor) return extremes_of(value.value.toTensor());
  if (!value.value.isDouble()) return {};
  const double magnitude = std::fabs(value.value.toDouble());
  constexpr double kLargest = std::numeric_limits<float>::max();
  return {!std::isfinite(magnitude), magnitude >= kLargest ? std::optional(kLargest) : std::nullopt};
}

// Of all values; `largest` is the least one of the dtypes.
Extremes extremes_of(const NamedValues& values) {
  Extremes all;
  for (const NamedValue& value : values) {
    if (value.unread != Unread::no) continue;
    const Extremes each = extremes_of(value);
    all.has_non_finite |= each.has_non_finite;
    if (each.largest) all.largest = std::min(*each.largest, all.largest.value_or(*each.largest));
  }
  return all;
}

// True if a number of this magnitude is among the values: a mask of the lowest finite number, say.
bool holds(const NamedValue& value, double magnitude) {
  if (value.value.isInt()) return std::fabs(static_cast<double>(value.value.toInt())) == magnitude;
  if (value.value.isDouble()) return std::fabs(value.value.toDouble()) == magnitude;
  if (value.type != ValueType::tensor) return false;
  const at::Tensor reals = reals_of(value.value.toTensor());
  return reals.defined() && reals.to(at::kDouble).abs().eq(magnitude).any().item<bool>();
}

}  // namespace

bool has_overflow(const NamedValues& inputs, const NamedValues& outputs) {
  const Extremes made = extremes_of(outputs);
  if (!made.has_non_finite && !made.largest) return false;
  const Extremes given = extremes_of(inputs);
  if (given.has_non_finite || given.largest) return false;
  return made.has_non_finite ||
         std::ranges::none_of(inputs, [&](const NamedValue& value) { return holds(value, *made.largest); });
}

NamedValues keep(NamedValues values) {
  for (NamedValue& value : values)
    if (value.written && value.type == ValueType::tensor && has_elements(value.value.toTensor()))
      value.value = value.value.toTensor().clone();
  return values;
}

}  // namespace opdump::torch_adapter
