#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

std::string tuple_of(const model::Shape& shape, std::string_view separator) {
  return "(" + joined_shape(shape, separator) + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace

std::string joined_shape(const model::Shape& shape, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < shape.rank(); ++i)
    text.append(i > 0 ? separator : "").append(std::to_string(shape[i]));
  return text;
}

std::string shape_text(const model::Shape& shape) { return "(" + joined_shape(shape, ", ") + ")"; }

std::string tuple_text(const model::Shape& shape) { return tuple_of(shape, ", "); }

std::string numpy_shape(const model::Shape& shape) { return tuple_of(shape, ","); }

std::string shape_cell(const model::Shape& shape) { return "[" + joined_shape(shape, ",") + "]"; }

std::string cannot_reshape(std::uint64_t count, const model::Shape& shape) {
  return "cannot reshape array of size " + std::to_string(count) + " into shape " + numpy_shape(shape);
}

}  // namespace opdump::msaccucmp
