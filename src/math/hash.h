// Hashes of a tensor's bytes, as statistic.csv prints them.
#pragma once

#include <string>

#include "model/tensor_view.h"

namespace opdump::math {

// 32 lower-case hex digits over byte_count() bytes of the elements in row-major order and their own dtype.
// int4 and uint1: over the unpacked elements but only byte_count() bytes of them -- the original does so
// (mindspore.md 3.3).
std::string md5_hex(const model::TensorView& view);

// 40 digits, of the same bytes.
std::string sha1_hex(const model::TensorView& view);

// 32 digits, of the same bytes: XXH128, the 128-bit variant of XXH3 in xxHash 0.8, with seed 0. It marks
// equal tensors as MD5 does, at the speed of memory, and protects nothing.
std::string xxh128_hex(const model::TensorView& view);

}  // namespace opdump::math
