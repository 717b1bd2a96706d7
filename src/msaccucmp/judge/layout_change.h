// One change of layout of one tensor, with the shapes that the original's converters make.
#pragma once

#include "msaccucmp/judge/layout_match.h"

namespace opdump::msaccucmp {

// True if the original converts the pair by itself.
bool is_builtin_change(model::Format from, model::Format to);

// The elements of `data` in the other layout; the result's shape is that of the array the original makes.
// Failures: invalid_format -- there is no such change; convert_function.
Outcome<TensorData> change_layout(const LayoutChange& change, const TensorData& data,
                                  const LayoutPlugin& plugin, Journal& journal);

// `data` with another shape of as many elements. Failure: invalid_dump.
Outcome<TensorData> reshaped(const TensorData& data, const model::Shape& shape, Journal& journal);

// The first elements in each dimension; `shape` has the rank of the data and is not larger.
Outcome<TensorData> cropped(const TensorData& data, const model::Shape& shape, Journal& journal);

}  // namespace opdump::msaccucmp
