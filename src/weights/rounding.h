// Rounding of numbers to a narrower floating-point type, as a cast does it: to the nearest, ties to even.
#pragma once

#include <cstddef>

#include "model/dtype.h"

namespace opdump::weights {

// Whether numbers can be rounded to `dtype`: float32, float16, bfloat16, and the floats of 8 bits.
bool can_round_to(model::DType dtype);

// Rounds in place. Numbers beyond the largest become infinite, or NaN where the type has no infinity.
void round_to(model::DType dtype, float* numbers, std::size_t count);
void round_to(model::DType dtype, double* numbers, std::size_t count);

}  // namespace opdump::weights
