// Shapes as the original and NumPy write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/shape.h"

namespace opdump::msaccucmp {

// "1x2x3"
std::string joined_shape(const model::Shape& shape, std::string_view separator);
// "(4)", "(2, 3)": in the original's messages.
std::string shape_text(const model::Shape& shape);
// "(4,)", "(2, 3)": a Python tuple.
std::string tuple_text(const model::Shape& shape);
// "(4,)", "(2,3)": in NumPy's messages.
std::string numpy_shape(const model::Shape& shape);
// "[4]", "[2,3]": in the table of results.
std::string shape_cell(const model::Shape& shape);

// NumPy's complaint about an array of `count` elements.
std::string cannot_reshape(std::uint64_t count, const model::Shape& shape);

}  // namespace opdump::msaccucmp
