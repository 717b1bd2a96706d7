// Turns arbitrary bytes into tensors: dtype, shape, strides and memory, every element of which lies inside
// the bytes.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::fuzz {

struct FuzzTensor {
  std::vector<std::byte> memory;
  model::TensorView view;
};

// The elements that `view` can reach, as offsets from its first: lowest and highest.
inline std::pair<std::int64_t, std::int64_t> reach(const model::TensorView& view) {
  std::int64_t low = 0, high = 0;
  for (std::size_t axis = 0; axis < view.shape.rank(); ++axis) {
    const std::int64_t far = (view.shape[axis] - 1) * view.strides[axis];
    (far < 0 ? low : high) += far;
  }
  return {low, high};
}

// Nothing if the bytes ask for more than `limit` elements. What the bytes leave open is zero.
inline std::optional<FuzzTensor> take_tensor(FuzzedDataProvider& bytes, model::DType dtype,
                                             std::uint64_t limit = 20000) {
  const auto rank = bytes.ConsumeIntegralInRange<std::size_t>(0, 8);
  std::vector<std::int64_t> sizes, strides;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_long = bytes.ConsumeBool() && axis < 3;  // the product stays far from any overflow
    sizes.push_back(bytes.ConsumeIntegralInRange<std::int64_t>(0, is_long ? 5000 : 5));
    strides.push_back(bytes.ConsumeIntegralInRange<std::int64_t>(-40, 40));
  }
  FuzzTensor tensor;
  model::TensorView& view = tensor.view;
  view = model::TensorView::row_major(dtype, model::Shape(std::span<const std::int64_t>(sizes)), nullptr);
  const std::size_t bits = model::dtype_info(dtype).bits;
  if (view.element_count() > limit) return std::nullopt;
  if (bytes.ConsumeBool() && bits >= 8) view.strides = model::Shape(std::span<const std::int64_t>(strides));
  const auto [low, high] =
      view.element_count() == 0 ? std::pair<std::int64_t, std::int64_t>{0, -1} : reach(view);
  // Exactly the memory that may be touched, so that the address sanitizer sees any step beyond it.
  tensor.memory.resize((static_cast<std::size_t>(high - low + 1) * bits + 7) / 8);
  const auto length = bytes.ConsumeIntegralInRange<std::size_t>(0, tensor.memory.size());
  const std::vector<std::uint8_t> pattern = bytes.ConsumeBytes<std::uint8_t>(length);
  for (std::size_t i = 0; i < tensor.memory.size() && !pattern.empty(); ++i)
    tensor.memory[i] = static_cast<std::byte>(pattern[i % pattern.size()]);
  view.data = tensor.memory.data() - low * static_cast<std::int64_t>(bits) / 8;
  return tensor;
}

// Stops the fuzzer here.
inline void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace opdump::fuzz
