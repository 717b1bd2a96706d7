#include "msaccucmp/judge/layout_change.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "math/layout/device_layout.h"
#include "math/layout/strided_copy.h"
#include "msaccucmp/log.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

using model::Format;
using model::Shape;
using model::TensorView;

// What the original converts by itself.
constexpr std::pair<Format, Format> kPairs[] = {
    {Format::nc1hwc0, Format::nchw},    {Format::nc1hwc0, Format::nhwc},   {Format::nc1hwc0, Format::hwcn},
    {Format::fractal_z, Format::nchw},  {Format::fractal_z, Format::hwcn}, {Format::fractal_nz, Format::nchw},
    {Format::fractal_nz, Format::nhwc}, {Format::fractal_nz, Format::nd},  {Format::ndc1hwc0, Format::ncdhw},
    {Format::ndc1hwc0, Format::nd},     {Format::hwcn, Format::nchw},      {Format::hwcn, Format::nhwc},
    {Format::hwcn, Format::fractal_z},  {Format::nchw, Format::nhwc},      {Format::nchw, Format::fractal_z},
    {Format::nhwc, Format::nchw},       {Format::nhwc, Format::hwcn},      {Format::nhwc, Format::fractal_z}};

std::string name_of(Format format) { return std::string(model::format_name(format)); }

// Matrices of one batch: a row is a matrix of one row.
Shape matrix_shape(const Shape& shape) {
  if (shape.rank() == 1) return {1, shape[0]};
  if (shape.rank() <= 3) return shape;
  std::int64_t batch = 1;
  for (std::size_t i = 0; i + 2 < shape.rank(); ++i)
    if (__builtin_mul_overflow(batch, shape[i], &batch)) return shape;
  return {batch, shape[shape.rank() - 2], shape[shape.rank() - 1]};
}

std::int64_t& named(char letter, Format format, Shape& shape) {
  return shape.dims()[model::format_name(format).find(letter)];
}

// All that is stored of filters whose windows are as large as `wanted` says; what is behind its fourth
// dimension is overlooked.
Result<Shape> padded_filters(const LayoutRequest& change) {
  const Shape& stored = change.stored;
  if (stored.rank() != 4 || change.wanted.rank() < 4) return Error(Code::corrupt, "the shapes do not fit");
  Shape shape(change.wanted.dims().first(4));
  std::int64_t window = 0;
  const std::int64_t height = named('H', change.to, shape), width = named('W', change.to, shape);
  if (__builtin_mul_overflow(height, width, &window) || window <= 0)
    return Error(Code::corrupt, "the window of the filters is empty");
  if (__builtin_mul_overflow(stored[1], stored[2], &named('N', change.to, shape)) ||
      __builtin_mul_overflow(stored[0] / window, stored[3], &named('C', change.to, shape)))
    return Error(Code::corrupt, "too many filters");
  return shape;
}

Outcome<TensorData> cut_filters(const LayoutRequest& change, const TensorData& whole, Log& log) {
  Shape shape = whole.shape, wanted(change.wanted.dims().first(4));
  for (const char letter : {'N', 'C'}) {
    std::int64_t& dim = named(letter, change.to, shape);
    dim = cut_padding(named(letter, change.to, wanted), dim);
  }
  return cropped(whole, shape, log);
}

Result<Shape> made_shape(const LayoutRequest& change) {
  if (change.from == Format::fractal_nz) return matrix_shape(change.wanted);
  if (change.to == Format::ncdhw && change.wanted.rank() < 2)
    return Error(Code::corrupt, "list index out of range");  // the original looks for the channels
  if (change.from == Format::fractal_z) return change.groups > 1 ? change.wanted : padded_filters(change);
  OPDUMP_TRY(Shape shape, math::convert_shape(change.stored, change.from, change.to, {{}, change.groups}));
  const bool cuts_channels = change.from == Format::ndc1hwc0 && shape.rank() == 5 &&
                             change.wanted.rank() > 1 &&
                             (change.to == Format::ncdhw || change.wanted.rank() == 5);
  if (cuts_channels) shape.dims()[1] = cut_padding(change.wanted[1], shape[1]);
  return shape;
}

Outcome<TensorData> run(const LayoutRequest& change, const TensorData& data, Log& log) {
  const auto failed = [&](const Error& error) {
    log.error("Failed to execute 'convert' in 'convert_" + name_of(change.from) + "_to_" +
              name_of(change.to) + "'. " + error.message());
    return Failure{Status::convert_function, ""};
  };
  const auto shape = made_shape(change);
  if (!shape) return failed(shape.error());
  const auto count = model::element_count(*shape);
  // What is not checked yet must not decide about memory: only FRACTAL_Z may be larger than what it is made
  // of.
  const std::uint64_t factor = change.to == Format::fractal_z ? 256 : 1;
  if (!count || *count > data.count() * factor) return failed(Error(Code::corrupt, "the shapes do not fit"));
  const std::uint64_t size = *count * (model::dtype_info(data.dtype).bits / 8);
  OPDUMP_TRY(const auto memory, make_memory(size, log));
  TensorView view = TensorView::row_major(data.dtype, change.stored, data.bytes);
  if (view.element_count() != data.count()) return failed(Error(Code::corrupt, "the shapes do not fit"));
  const auto done = math::convert_layout(view, change.from, change.to, *shape,
                                         std::max<std::int64_t>(change.groups, 1), {memory.get(), size});
  if (!done) return failed(done.error());
  TensorData made{data.dtype, *shape, memory.get(), memory};
  if (change.from == Format::fractal_z && change.groups <= 1) return cut_filters(change, made, log);
  return made;
}

}  // namespace

Shape without_ones(const Shape& shape) {
  std::vector<std::int64_t> dims;
  for (const std::int64_t dim : shape.dims())
    if (dim != 1) dims.push_back(dim);
  return dims.empty() ? shape : Shape(std::span<const std::int64_t>(dims));
}

Shape padded(const Shape& shape, std::size_t rank) {
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.resize(std::max(dims.size(), rank), 1);
  return Shape(std::span<const std::int64_t>(dims));
}

std::int64_t cut_padding(std::int64_t want, std::int64_t have) {
  const std::int64_t pad = want - have;
  if (pad == 0) return have;
  return pad < 0 ? std::max<std::int64_t>(want, 0) : std::min(pad, have);
}

bool is_builtin_change(Format from, Format to) {
  return std::ranges::find(kPairs, std::pair(from, to)) != std::end(kPairs);
}

Outcome<TensorData> change_layout(const LayoutRequest& change, const TensorData& data,
                                  const LayoutPlugin& plugin, Log& log) {
  if (plugin)
    if (auto made = plugin(change, data, log)) return std::move(*made);
  if (!is_builtin_change(change.from, change.to)) {
    log.warn("Not supported from " + name_of(change.from) + " to " + name_of(change.to) + ".");
    return Failure{Status::invalid_format, ""};
  }
  return run(change, data, log);
}

Outcome<TensorData> reshaped(const TensorData& data, const Shape& shape, Log& log) {
  TensorData result = data;
  result.shape = shape;
  if (model::element_count(shape) == data.count()) return result;
  log.error("The length(" + std::to_string(data.count()) + ") is not match with the shape " +
            shape_text(shape) + ".");
  return Failure{Status::invalid_dump, ""};
}

Outcome<TensorData> cropped(const TensorData& data, const Shape& shape, Log& log) {
  if (data.shape == shape) return data;
  TensorView view = data.view();
  view.shape = shape;
  const std::uint64_t bytes = view.byte_count();
  OPDUMP_TRY(const auto memory, make_memory(bytes, log));
  math::copy_row_major(view, {memory.get(), bytes});
  return TensorData{data.dtype, shape, memory.get(), memory};
}

}  // namespace opdump::msaccucmp
