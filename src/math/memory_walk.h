// Iteration over a view. All functions first reduce it to the fewest dimensions, because a step
// of an outer loop costs far more than a step of the innermost one.
// Internal to math/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/tensor_view.h"

namespace opdump::math {

// Keeps the elements and their (row-major) order: dimensions of size 1 are gone and neighbours that lie
// without a gap are one. A contiguous view (a scalar too) becomes one dimension of stride 1.
model::TensorView merge_dimensions(const model::TensorView& view);

// Walks the elements once each, in the order in which they lie: dimensions sorted by stride, negative strides
// turned round, repeated dimensions (stride 0) left out. `repeats` is how often each element then counts.
struct MemoryOrder {
  model::TensorView view;
  std::uint64_t repeats = 1;
};
MemoryOrder memory_order(const model::TensorView& view);

// Returns the raw elements of a view in row-major order, in blocks chosen by the caller.
class RowMajorReader {
 public:
  explicit RowMajorReader(const model::TensorView& view);

  std::uint64_t remaining() const { return remaining_; }

  // The next `count` elements (at most remaining()): a pointer into the tensor where they lie together, else
  // `buffer`, into which they were gathered. Packed types: `count` must fill whole bytes but for the last
  // block.
  const std::byte* next(std::size_t count, std::byte* buffer);

 private:
  void gather(std::size_t count, std::byte* out);
  std::size_t next_run(std::size_t limit, const std::byte*& first);

  model::TensorView view_;  // merged; rank >= 1
  model::Shape index_;
  const std::byte* row_ = nullptr;  // first element of the current innermost row
  std::uint64_t remaining_ = 0;
  std::size_t bits_ = 0;        // of an element
  std::size_t since_look_ = 0;  // elements since the last give_back_when_due()
};

}  // namespace opdump::math
