// The sum of tensors of one shape.
#pragma once

#include <span>

#include "model/tensor_view.h"

namespace opdump::math {

// Element i of `out`, in row-major order, becomes `factor` times the sum of the elements i of `tensors`,
// which have one shape and a real dtype. Added in double.
void sum_tensors(std::span<const model::TensorView> tensors, double factor, std::span<double> out);

}  // namespace opdump::math
