#include "msaccucmp/judge/layout_change.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "math/layout/device_layout.h"
#include "math/layout/strided_copy.h"

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

// All that is stored of filters whose windows are as large as `to_shape` says; what is behind its fourth
// dimension is overlooked.
Result<Shape> padded_filters(const LayoutChange& change) {
  const Shape& stored = change.from_shape;
  if (stored.rank() != 4 || change.to_shape.rank() < 4) return Error(Code::corrupt, "the shapes do not fit");
  Shape shape(change.to_shape.dims().first(4));
  std::int64_t window = 0;
  const std::int64_t height = named('H', change.to, shape), width = named('W', change.to, shape);
  if (__builtin_mul_overflow(height, width, &window) || window <= 0)
    return Error(Code::corrupt, "the window of the filters is empty");
  if (__builtin_mul_overflow(stored[1], stored[2], &named('N', change.to, shape)) ||
      __builtin_mul_overflow(stored[0] / window, stored[3], &named('C', change.to, shape)))
    return Error(Code::corrupt, "too many filters");
  return shape;
}

// What NumPy's array[:want - have] leaves, which is meant to cut the padding.
std::int64_t without_padding(std::int64_t want, std::int64_t have) {
  const std::int64_t pad = want - have;
  if (pad == 0) return have;
  return pad < 0 ? std::max<std::int64_t>(want, 0) : std::min(pad, have);
}

Outcome<TensorData> cut_filters(const LayoutChange& change, const TensorData& whole, Journal& journal) {
  Shape shape = whole.shape, wanted(change.to_shape.dims().first(4));
  for (const char letter : {'N', 'C'}) {
    std::int64_t& dim = named(letter, change.to, shape);
    dim = without_padding(named(letter, change.to, wanted), dim);
  }
  return cropped(whole, shape, journal);
}

Result<Shape> made_shape(const LayoutChange& change) {
  if (change.from == Format::fractal_nz) return matrix_shape(change.to_shape);
  if (change.to == Format::ncdhw && change.to_shape.rank() < 2)
    return Error(Code::corrupt, "list index out of range");  // the original looks for the channels
  if (change.from == Format::fractal_z) return change.groups > 1 ? change.to_shape : padded_filters(change);
  OPDUMP_TRY(Shape shape,
             math::convert_shape(change.from_shape, change.from, change.to, {{}, change.groups}));
  const bool cuts_channels = change.from == Format::ndc1hwc0 && shape.rank() == 5 &&
                             change.to_shape.rank() > 1 &&
                             (change.to == Format::ncdhw || change.to_shape.rank() == 5);
  if (cuts_channels) shape.dims()[1] = without_padding(change.to_shape[1], shape[1]);
  return shape;
}

Outcome<TensorData> run(const LayoutChange& change, const TensorData& data, Journal& journal) {
  const auto failed = [&](const Error& error) {
    journal.error("Failed to execute 'convert' in 'convert_" + name_of(change.from) + "_to_" +
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
  OPDUMP_TRY(const auto memory, make_memory(size, journal));
  TensorView view = TensorView::row_major(data.dtype, change.from_shape, data.bytes);
  if (view.element_count() != data.count()) return failed(Error(Code::corrupt, "the shapes do not fit"));
  const auto done = math::convert_layout(view, change.from, change.to, *shape,
                                         std::max<std::int64_t>(change.groups, 1), {memory.get(), size});
  if (!done) return failed(done.error());
  TensorData made{data.dtype, *shape, memory.get(), memory};
  if (change.from == Format::fractal_z && change.groups <= 1) return cut_filters(change, made, journal);
  return made;
}

}  // namespace

bool is_builtin_change(Format from, Format to) {
  return std::ranges::find(kPairs, std::pair(from, to)) != std::end(kPairs);
}

Outcome<TensorData> change_layout(const LayoutChange& change, const TensorData& data,
                                  const LayoutPlugin& plugin, Journal& journal) {
  if (plugin)
    if (auto made = plugin(change, data, journal)) return std::move(*made);
  if (!is_builtin_change(change.from, change.to)) {
    journal.warn("Not supported from " + name_of(change.from) + " to " + name_of(change.to) + ".");
    return Failure{Status::invalid_format, ""};
  }
  return run(change, data, journal);
}

Outcome<TensorData> reshaped(const TensorData& data, const Shape& shape, Journal& journal) {
  TensorData result = data;
  result.shape = shape;
  if (model::element_count(shape) == data.count()) return result;
  journal.error("The length(" + std::to_string(data.count()) + ") is not match with the shape " +
                shape_text(shape) + ".");
  return Failure{Status::invalid_dump, ""};
}

Outcome<TensorData> cropped(const TensorData& data, const Shape& shape, Journal& journal) {
  if (data.shape == shape) return data;
  TensorView view = data.view();
  view.shape = shape;
  const std::uint64_t bytes = view.byte_count();
  OPDUMP_TRY(const auto memory, make_memory(bytes, journal));
  math::copy_row_major(view, {memory.get(), bytes});
  return TensorData{data.dtype, shape, memory.get(), memory};
}

}  // namespace opdump::msaccucmp
