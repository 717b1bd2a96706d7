// What is wrong with a tensor by itself: units of a layer that give nothing, values that nearly overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/dtype.h"
#include "model/tensor_view.h"

namespace opdump::result {

struct DeadUnits {
  std::uint64_t units = 0, dead = 0;
};

// A unit is an index of the last dimension of a tensor (batch, ..., units); of four or more dimensions an
// index of the second one, (batch, channels, height, width). It is dead if all of its elements are 0. None:
// fewer than two dimensions, fewer than two elements for each unit, or elements that are not contiguous
// floats of 16 bits and more.
std::optional<DeadUnits> count_dead_units(const model::TensorView& tensor);

// The largest finite value of a float; none for other dtypes.
std::optional<double> largest_finite(model::DType dtype);

}  // namespace opdump::result
