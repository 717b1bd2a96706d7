// Floats of 8 bits and fewer, as tables of all their values.
//   float8_e4m3   1-4-3, bias 7; all ones is NaN, no inf         (OCP E4M3FN)
//   float8_e5m2   1-5-2, bias 15, inf and NaN as IEEE: the upper half of a binary16
//   float8_e8m0   2^(bits - 127), 0xff is NaN: a scale
//   hifloat8      sign, a prefix of 2 to 4 bits that gives the exponent 4 to 0 bits, and what is left as
//                 mantissa (arXiv 2409.16626): 11 -> 4 + 1 bits, 10 -> 3 + 2, 01 -> 2 + 3, 001 -> 1 + 3, 0001
//                 -> 0 + 3. The exponent has a sign and a hidden leading 1. 0000mmm is 2^(m - 23); 0x00 is 0,
//                 0x80 NaN, 0x6f and 0xef inf.
//   float6_e3m2   bias 3      float6_e2m3  bias 1        neither inf nor NaN
//   float4_e2m1   bias 1      float4_e1m2  bias 1
#pragma once

#include <span>

#include "model/dtype.h"

namespace opdump::math {

// The value of every pattern of `dtype`, indexed by its bits; empty for any other dtype. All values are
// exact.
std::span<const float> small_float_values(model::DType dtype);

}  // namespace opdump::math
