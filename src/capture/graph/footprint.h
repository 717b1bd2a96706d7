// Which bytes of a block of memory the elements of a tensor are. The operator that writes to a part of a
// buffer made that part and no other: chunks of one buffer, columns of one matrix and every second row share
// a block and even the stretch between their first and last bytes, but no byte.
#pragma once

#include <cstdint>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::capture {

struct Footprint {
  std::uint64_t block = 0;          // 0: unknown
  std::int64_t begin = 0, end = 0;  // of its first and after its last byte, in the block
  std::uint64_t view = 0;           // equal for the same elements seen alike: place, dtype, shape and strides
  std::int64_t element_bytes = 1;
  struct Dimension {
    std::int64_t count, stride;  // in bytes, above 0
  };
  std::vector<Dimension> dimensions = {};  // if there are holes between the elements; else empty
};

// Element 0 of `view` is at byte `offset` of the block.
Footprint make_footprint(std::uint64_t block, std::int64_t offset, const model::TensorView& view);

// False if no byte belongs to both. True may be wrong where strides are no multiples of each other.
bool overlap(const Footprint& a, const Footprint& b);

// True if `all` has every byte of `part`. False may be wrong where dimensions of `all` are nested in another
// way than those of `part`.
bool contains(const Footprint& all, const Footprint& part);

}  // namespace opdump::capture
