// The numbers by which DebugMode of PyTorch tells tensors apart (torch/utils/_debug_mode/_utils.py).
#pragma once

#include <cstdint>

#include "model/tensor_view.h"

namespace opdump::math {

// False for dtypes without statistics that are not complex.
bool has_torch_hashes(model::DType dtype);

// Its hash "norm": the sum of the magnitudes of all elements, added in double. Integers and bool count as the
// nearest float, as there. NaN and infinities take part. 0 for an empty tensor. Requires has_torch_hashes().
double sum_of_magnitudes(const model::TensorView& view);

// Its hash "hash_tensor": the bits of all elements as double, of integers and bool as int64, combined by XOR.
// Requires has_torch_hashes().
std::uint64_t xor_of_elements(const model::TensorView& view);

}  // namespace opdump::math
