// A tensor's elements in row-major order, as blocks of floats or doubles. Internal to math/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "math/convert.h"
#include "math/memory_walk.h"
#include "model/tensor_view.h"

namespace opdump::math {

inline constexpr std::size_t kLaneBlock =
    2048;  // elements: two tensors' blocks fit into the first-level cache

template <typename Lane>
class LaneReader {
 public:
  explicit LaneReader(const model::TensorView& view) : dtype_(view.dtype), reader_(view) {}

  // The next `count` elements, at most kLaneBlock; they live until the next call. To float, elements that it
  // does not hold exactly are rounded.
  const Lane* next(std::size_t count) {
    const Lane* lanes = next_anywhere(count);
    if (reinterpret_cast<std::uintptr_t>(lanes) % alignof(Lane) == 0) return lanes;
    std::memcpy(lanes_.data(), lanes, count * sizeof(Lane));
    return lanes_.data();
  }

  // The same for who needs no alignment: an element may lie across the border of two words.
  const Lane* next_anywhere(std::size_t count) {
    const std::byte* raw = reader_.next(count, raw_.data());
    if (dtype_ == kLaneDType) return reinterpret_cast<const Lane*>(raw);
    convert_elements(dtype_, raw, lanes_.data(), count);
    return lanes_.data();
  }

 private:
  static constexpr model::DType kLaneDType =
      std::is_same_v<Lane, float> ? model::DType::float32 : model::DType::float64;
  model::DType dtype_;
  RowMajorReader reader_;
  alignas(64) std::array<std::byte, kLaneBlock * sizeof(double)> raw_;
  alignas(64) std::array<Lane, kLaneBlock> lanes_;
};

}  // namespace opdump::math
