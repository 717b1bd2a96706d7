// Transposes a matrix of elements in memory. Internal to math/.
#pragma once

#include <cstddef>

namespace opdump::math {

// Writes the `rows` x `columns` matrix whose element (i, j) is at in + i * element_bytes + j * in_step to
// out + i * out_step + j * element_bytes. Steps are in bytes, in_step of either sign. Element sizes 1, 2, 4,
// 8 and 16; no alignment.
void transpose(std::size_t element_bytes, const std::byte* in, std::ptrdiff_t in_step, std::byte* out,
               std::ptrdiff_t out_step, std::size_t rows, std::size_t columns);

}  // namespace opdump::math
