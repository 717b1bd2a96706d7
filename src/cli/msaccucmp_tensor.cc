#include "cli/msaccucmp_tensor.h"

#include <algorithm>
#include <array>
#include <utility>

#include "math/convert.h"
#include "math/device_layout.h"
#include "math/strided_copy.h"

namespace opdump::cli {
namespace {

using model::DType;
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

bool is_four_dimensional(Format format) {
  return format == Format::nchw || format == Format::nhwc || format == Format::hwcn;
}

// A format of four dimensions on another tensor says nothing.
Format format_of(const format::DumpTensor& tensor, const Shape& shape) {
  const auto format = static_cast<Format>(tensor.format);
  return is_four_dimensional(format) && shape.rank() != 4 ? Format::nd : format;
}

Shape original_shape_of(const format::DumpTensor& tensor) {
  std::vector<std::int64_t> dims;
  for (const std::uint64_t dim : tensor.original_shape.value_or(std::vector<std::uint64_t>()))
    dims.push_back(static_cast<std::int64_t>(dim));
  return Shape(std::span<const std::int64_t>(dims));
}

// Matrices with their batch dimensions joined, as the original leaves them.
Shape joined_matrix(const Shape& shape) {
  if (shape.rank() <= 3) return shape;
  std::int64_t batch = 1;
  for (std::size_t i = 0; i + 2 < shape.rank(); ++i)
    if (__builtin_mul_overflow(batch, shape[i], &batch)) return shape;
  return {batch, shape[shape.rank() - 2], shape[shape.rank() - 1]};
}

// The original asks that a matrix fills its blocks up to the last one, and counts 16 to a block.
bool fills_blocks(std::int64_t wanted, std::int64_t stored) {
  return wanted <= stored && wanted > stored - 16;
}

Result<> check_matrix(const Shape& stored, const Shape& wanted) {
  const std::size_t last = stored.rank() - 1;
  if (stored.rank() < 4 || wanted.rank() < 2 || model::element_count(stored).value_or(0) == 0)
    return Error(Code::corrupt, "no matrix");
  const std::int64_t height = stored[last - 2] * stored[last - 1], width = stored[last - 3] * stored[last];
  if (fills_blocks(wanted[wanted.rank() - 2], height) && fills_blocks(wanted[wanted.rank() - 1], width))
    return ok();
  log_line(Severity::error, "The target shape " + shape_text(wanted) +
                                " is invalid. The recommended shape is (" + std::to_string(height) + ", " +
                                std::to_string(width) + ").");
  return Error(Code::unsupported, "shape");
}

// The shape that a conversion makes before anything is cut.
Result<Shape> made_shape(const Array& array, Format from, Format to, const Shape& wanted,
                         std::int64_t groups) {
  if (from == Format::fractal_nz) return joined_matrix(wanted);
  if (from == Format::fractal_z || (from == Format::ndc1hwc0 && wanted.rank() == 5)) return wanted;
  return math::convert_shape(array.shape, from, to, {{}, groups});
}

Result<Array> converted(const Array& array, Format from, Format to, const Shape& shape, std::int64_t groups) {
  const auto count = model::element_count(shape);
  const std::uint64_t size = model::dtype_info(array.dtype).bits / 8;
  // What is not checked yet must not decide about memory: only FRACTAL_Z may be larger than what it is made
  // of.
  const std::uint64_t factor = to == Format::fractal_z ? 256 : 1;
  if (!count || *count > array.data.size() / size * factor) return Error(Code::corrupt, "shape is too large");
  Array result{array.dtype, shape, std::vector<std::byte>(*count * size)};
  const TensorView view = TensorView::row_major(array.dtype, array.shape, array.data.data());
  OPDUMP_CHECK_OK(math::convert_layout(view, from, to, shape, groups, result.data));
  return result;
}

// The first elements of each dimension.
Array cut(Array array, const Shape& shape) {
  if (array.shape == shape) return array;
  TensorView view = TensorView::row_major(array.dtype, array.shape, array.data.data());
  view.shape = shape;
  Array result{array.dtype, shape, std::vector<std::byte>(view.byte_count())};
  math::copy_row_major(view, result.data);
  return result;
}

void say_cannot_cut(const Array& array, const Shape& wanted, const std::string& path) {
  if (array.shape.rank() != wanted.rank())
    log_line(
        Severity::warning,
        "Due to the different shapes on the left and right,the left dump data" + shape_text(array.shape) +
            " can not be compared to the right dump data" + shape_text(wanted) +
            ". Please check the batch of the dump data or the shape may be changed due to optimization.");
  log_line(Severity::error, "Failed to slice data for '" + path + "' from " + shape_text(array.shape) +
                                " to " + shape_text(wanted) + ".");
}

// Cuts by position, whatever the dimensions mean: the first one that differs must be the larger one.
Array cut_to(Array array, const Shape& wanted, std::string_view name, const std::string& path) {
  const std::span<const std::int64_t> have = std::as_const(array.shape).dims(), want = wanted.dims();
  const auto differs = std::ranges::mismatch(have, want);
  const bool is_smaller =
      differs.in1 != have.end() && differs.in2 != want.end() && *differs.in1 < *differs.in2;
  if (have.size() != want.size() || is_smaller) {
    say_cannot_cut(array, wanted, path);
    return array;
  }
  Shape shape = wanted;
  for (std::size_t i = 0; i < have.size(); ++i) shape.dims()[i] = std::min(have[i], want[i]);
  log_line(Severity::info, "The data of " + std::string(name) + " has been sliced from " +
                               shape_text(array.shape) + " to " + shape_text(wanted) + ".");
  return cut(std::move(array), shape);
}

}  // namespace

std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + ")";
}

Result<Array> read_array(std::span<const std::byte> file, const format::DumpTensor& tensor) {
  format::DumpTensor told = tensor;
  if (told.data_type == 0) told.data_type = 3;  // int8
  OPDUMP_TRY(const format::DumpArray stored, format::read_dump_array(told));
  const std::uint64_t count = *model::element_count(stored.shape);
  const model::DTypeInfo& info = model::dtype_info(stored.dtype);
  const bool is_small = info.kind == model::DTypeKind::floating && info.bits <= 8;
  Array array{is_small ? DType::float64 : math::array_dtype(stored.dtype), stored.shape, {}};
  array.data.resize(count * (model::dtype_info(array.dtype).bits / 8));
  const std::byte* in = file.data() + stored.data.offset;
  if (is_small)
    math::convert_elements(stored.dtype, in, reinterpret_cast<double*>(array.data.data()), count);
  else
    math::convert_to_array(stored.dtype, in, array.data.data(), count);
  return array;
}

Result<Array> change_format(Array array, const format::DumpTensor& tensor, const ConvertOptions& options,
                            std::string_view name, const std::string& path) {
  const Format from = format_of(tensor, array.shape), to = *options.format;
  const Shape wanted = options.shape.value_or(original_shape_of(tensor));
  if (from == Format::fractal_nz) OPDUMP_CHECK_OK(check_matrix(array.shape, wanted));
  log_line(Severity::info, "Before transferring the format, the data of " + std::string(name) + " is " +
                               name_of(from) + shape_text(array.shape) + ".");
  if (from == to) {
    log_line(Severity::info, "There is no need to transfer format because the format (" + name_of(to) +
                                 ") is the same for " + std::string(name) + " of \"'" + path + "'\".");
    return array;
  }
  if (std::ranges::find(kPairs, std::pair(from, to)) == std::end(kPairs)) {
    log_line(Severity::warning, "Not supported from " + name_of(from) + " to " + name_of(to) + ".");
    return Error(Code::unsupported, "pair");
  }
  const std::int64_t groups = std::max<std::int64_t>(tensor.sub_format, 1);
  auto shape = made_shape(array, from, to, wanted, groups);
  auto result = shape ? converted(array, from, to, *shape, groups) : Result<Array>(shape.error());
  if (!result) {
    log_line(Severity::error, "Failed to execute 'convert' in 'convert_" + name_of(from) + "_to_" +
                                  name_of(to) + "'. " + result.error().message());
    return result.take_error();
  }
  log_line(Severity::info, "After transferring the format, the data of " + std::string(name) + " is " +
                               name_of(to) + shape_text(result->shape) + ".");
  if (wanted.rank() == 0) return std::move(*result);
  return cut_to(std::move(*result), wanted, name, path);
}

}  // namespace opdump::cli
