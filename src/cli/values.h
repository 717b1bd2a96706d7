// The elements of a tensor as text, printed like in NumPy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::cli {

// Element number `index` in row-major order: "0.1", "nan", "True", "(1+2j)"; "?" for dtypes without
// arithmetic. Requires index < view.element_count().
std::string format_element(const model::TensorView& view, std::uint64_t index);

// The first and last `edge` elements in row-major order, "..." between them if there are more:
// "[0.1 0.2 0.3 ... 0.8 0.9]".
std::string format_values(const model::TensorView& view, std::size_t edge);

}  // namespace opdump::cli
