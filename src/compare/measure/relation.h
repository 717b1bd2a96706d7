// This finds the simple way in which a tensor differs as a whole: by a factor, by a constant, in its order,
// in its precision.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/dtype.h"

namespace opdump::compare {

// "actual is 2 × golden in all elements", of two tensors of one shape `dims`, row by row, whose numbers have
// the coarser type `dtype` of the two; or that it is golden + a constant, golden with the other sign, golden
// transposed, in another order, shifted along an axis, clipped, or rounded to 16 bits. Empty if it is none of
// these, if either has a number that is not finite, and of fewer than 4 different numbers, of which many are.
std::string describe_relation(std::span<const double> golden, std::span<const double> actual,
                              const std::vector<std::int64_t>& dims, model::DType dtype);

}  // namespace opdump::compare
