// Forms in which a tensor is recorded or examined, other than its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::capture {

// The first `count` elements, row by row, of a view that does not hold them together.
std::vector<std::byte> first_elements(model::TensorView view, std::uint64_t count);

// Complex numbers as the pairs of reals that they are; other tensors as they are.
model::TensorView as_reals(model::TensorView view);

// A dense tensor as its elements lie, in one dimension; any other as it is.
model::TensorView in_memory(const model::TensorView& view);

// An NCDHW tensor that lies as NDHWC, seen so; any other as it is.
model::TensorView volumes_in_memory_order(const model::TensorView& view);

}  // namespace opdump::capture
