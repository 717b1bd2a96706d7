// One change of layout of one tensor, with the shapes that the original's converters make.
#pragma once

#include <functional>
#include <optional>

#include "model/format.h"
#include "model/shape.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/dumped_tensor.h"

namespace opdump::msaccucmp {

// A change of the memory layout, as the original's converters are asked for it.
struct LayoutRequest {
  model::Format from = model::Format::nd, to = model::Format::nd;
  model::Shape stored;      // in `from`
  model::Shape wanted;      // without padding, as far as it is known
  std::int64_t groups = 0;  // of a convolution
};

// Changes of layout that a user has added or replaced. Nothing if this one is not among them.
using LayoutPlugin =
    std::function<std::optional<Outcome<TensorData>>(const LayoutRequest&, const TensorData&, Log&)>;

// The dimensions that are not 1; all if none is left.
model::Shape without_ones(const model::Shape& shape);
// With dimensions of 1 behind, up to `rank`.
model::Shape padded(const model::Shape& shape, std::size_t rank);

// What NumPy's array[:want - have] leaves of `have`: the original cuts padding with it.
std::int64_t cut_padding(std::int64_t want, std::int64_t have);

// True if the original converts the pair by itself.
bool is_builtin_change(model::Format from, model::Format to);

// The elements of `data` in the other layout; the result's shape is that of the array the original makes.
// Failures: invalid_format -- there is no such change; convert_function.
Outcome<TensorData> change_layout(const LayoutRequest& change, const TensorData& data,
                                  const LayoutPlugin& plugin, Log& log);

// `data` with another shape of as many elements. Failure: invalid_dump.
Outcome<TensorData> reshaped(const TensorData& data, const model::Shape& shape, Log& log);

// The first elements in each dimension; `shape` has the rank of the data and is not larger.
Outcome<TensorData> cropped(const TensorData& data, const model::Shape& shape, Log& log);

}  // namespace opdump::msaccucmp
