#include "dumper_overflow.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace opdump::torch_adapter {
namespace {

// Bits of the magnitude at or above those of the largest finite number: that one, infinity and NaNs.
template <typename Bits>
bool reaches(const void* data, std::int64_t count, Bits magnitude, Bits largest) {
  const auto* bits = static_cast<const Bits*>(data);
  constexpr std::int64_t kBlock = 4096;  // without a branch in it: the compiler takes many at once
  for (std::int64_t first = 0; first < count; first += kBlock) {
    Bits found = 0;
    for (std::int64_t i = first; i < std::min(count, first + kBlock); ++i)
      found |= static_cast<Bits>((bits[i] & magnitude) >= largest);
    if (found) return true;
  }
  return false;
}

bool is_extreme(double number) { return !(std::fabs(number) < std::numeric_limits<float>::max()); }

bool is_extreme(const at::Tensor& tensor) {
  if (!tensor.is_floating_point() && !tensor.is_complex()) return false;
  const at::Tensor elements = elements_of(tensor);
  if (!elements.defined()) return false;
  const at::Tensor dense = elements.is_complex() ? at::view_as_real(elements) : elements;
  const void* data = dense.data_ptr();
  switch (dense.scalar_type()) {
    case at::kFloat:
      return reaches<std::uint32_t>(data, dense.numel(), 0x7fffffff, 0x7f7fffff);
    case at::kDouble:
      return reaches<std::uint64_t>(data, dense.numel(), 0x7fffffffffffffff, 0x7fefffffffffffff);
    case at::kHalf:
      return reaches<std::uint16_t>(data, dense.numel(), 0x7fff, 0x7bff);
    case at::kBFloat16:
      return reaches<std::uint16_t>(data, dense.numel(), 0x7fff, 0x7f7f);
    default:
      return false;
  }
}

bool is_extreme(const NamedValue& value) {
  if (value.type == ValueType::tensor) return is_extreme(value.value.toTensor());
  return value.value.isDouble() && is_extreme(value.value.toDouble());
}

bool any_extreme(const NamedValues& values) {
  return std::ranges::any_of(values, [](const NamedValue& value) { return is_extreme(value); });
}

}  // namespace

bool has_overflow(const NamedValues& inputs, const NamedValues& outputs) {
  return any_extreme(outputs) && !any_extreme(inputs);
}

NamedValues keep(NamedValues values) {
  for (NamedValue& value : values)
    if (value.written && value.type == ValueType::tensor && has_elements(value.value.toTensor()))
      value.value = value.value.toTensor().clone();
  return values;
}

}  // namespace opdump::torch_adapter
