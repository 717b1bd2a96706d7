// Numbers of a tensor, computed and printed like in NumPy.
#pragma once

#include <cstddef>
#include <string>

#include "model/tensor_view.h"

namespace opdump::arrays {

// str() of a NumPy scalar: "5.0", "1e-05", "nan", "True", "(1+2j)"; "?" for dtypes that NumPy lacks.
std::string numpy_text(model::DType dtype, const std::byte* element);

// "[Shape: (2, 3)] [Dtype: float16] [Max: 5.0] [Min: 0.0] [Mean: 2.5]" of a contiguous tensor with elements;
// the mean in NumPy's order of summation, to its last bit. Of complex elements max and min are those of the
// real parts.
std::string numpy_summary(const model::TensorView& view);

}  // namespace opdump::arrays
