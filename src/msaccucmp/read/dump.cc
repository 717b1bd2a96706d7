#include "msaccucmp/read/dump.h"

#include <algorithm>
#include <utility>

#include "format/tensors/dump_names.h"
#include "format/tensors/npy.h"
#include "format/tensors/tlv_dump.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/read/dump_header.h"

namespace opdump::msaccucmp {
namespace {

using format::DumpData;
using format::DumpTensor;
using model::DType;
using model::Shape;

constexpr std::int32_t kUndefined = 0;  // a dtype
constexpr std::int32_t kReserved = 40;  // a format
// What the original has a type for.
constexpr std::int32_t kKnown[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 17, 23, 27, 29, 33, 34, 35};

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

// How many whole elements there are in `bytes`.
std::uint64_t count_in(DType dtype, std::uint64_t bytes) {
  const std::uint64_t bits = model::dtype_info(dtype).bits;
  return bits == 0 ? 0 : bytes / bits * 8 + bytes % bits * 8 / bits;
}

class Reader {
 public:
  Reader(DumpFile& file, Log& log) : file_(file), log_(log) {}

  Status read() {
    auto mapped = MappedFile::open(file_.path);
    if (!mapped)
      return log_.fail(Status::invalid_dump, "Failed to open dump file " + quoted(file_.path) +
                                                 ". Please check the dump file. " + mapped.error().message());
    file_.map = std::move(*mapped);
    bytes_ = file_.map->bytes();
    warn_of_size();
    const bool is_nano = format::is_tlv_dump(bytes_);
    if (bytes_.empty())
      return log_.fail(Status::invalid_dump, "Failed to parse dump file " + quoted(file_.path) +
                                                 ". The file size is zero. Please check the dump file.");
    if (!is_nano) warn_of_size();  // the original looks twice
    if (!is_nano && file_.path.extension() == ".npy") return read_array();
    return read_header();
  }

 private:
  void warn_of_size() {
    if (auto remark = large_file_remark(file_.path.string(), bytes_.size())) log_.warn(std::move(*remark));
  }

  // An array is taken for an operator with one output.
  Status read_array() {
    const auto header = format::decode_npy_header(bytes_);
    if (!header || (header->fortran_order && header->shape.rank() > 1))
      return log_.fail(Status::invalid_dump,
                       "Failed to parse dump file " + in_quotes(file_.path.string()) +
                           ". Only data of the numpy format is supported. " +
                           (header ? "an array in column order" : header.error().message()));
    DumpTensor tensor;
    tensor.data_type = format::dump_dtype_number(header->dtype);
    tensor.format = kReserved;
    tensor.shape.assign(header->shape.dims().begin(), header->shape.dims().end());
    tensor.data = format::Extent{header->data_offset, header->data_bytes()};
    if (tensor.data_type == kUndefined)
      return log_.fail(Status::invalid_dtype, "The dtype(" + header->descr + ") does not support.");
    file_.data.outputs.push_back(std::move(tensor));
    return check_tensors();
  }

  Status read_header() {
    auto header = decode_header(file_.path.string(), bytes_, file_.is_bug_compatible, log_);
    if (!header) return header.error();
    file_.data = std::move(header->data);
    file_.is_nano = header->is_nano;
    return check_tensors();
  }

  Status check_tensors() {
    for (const auto* tensors : {&file_.data.outputs, &file_.data.inputs})
      for (const DumpTensor& tensor : *tensors)
        if (const Status status = check_tensor(tensor); status != Status::ok) return status;
    return Status::ok;
  }

  Status check_tensor(const DumpTensor& tensor) {
    if (std::ranges::find(tensor.shape, 0u) != tensor.shape.end()) return Status::ok;
    if (!is_known_dtype(file_, tensor.data_type))
      return log_.fail(Status::invalid_dtype, unknown_dtype(file_, tensor));
    const std::uint64_t size = model::dtype_info(stored_dtype(tensor.data_type)).bits / 8;
    if (size == 0) return Status::ok;
    const std::uint64_t have = tensor.data.value_or(format::Extent{}).bytes;
    const auto wanted = model::element_count(shape_of_dims(tensor.shape).value_or(Shape{INT64_MAX}));
    const bool is_short = tensor.data_type == kUndefined || !wanted || have / size < *wanted;
    if (!is_short || have % size == 0) return Status::ok;
    return log_.crash("buffer size must be a multiple of element size");
  }

  DumpFile& file_;
  Log& log_;
  std::span<const std::byte> bytes_;
};

}  // namespace

bool is_known_dtype(const DumpFile& file, std::int32_t number) {
  const bool is_small_float = number >= 33 && number <= 35;
  const bool is_known = std::ranges::find(kKnown, number) != std::end(kKnown);
  if (is_known && !(file.is_bug_compatible && file.is_nano && is_small_float)) return true;
  return !file.is_bug_compatible && format::dump_dtype(number) != DType::undefined;
}

std::string unknown_dtype(const DumpFile& file, const DumpTensor& tensor) {
  return unsupported_dtype(file.is_nano ? -1 : tensor.data_type);
}

Outcome<DumpFile> read_dump(const std::filesystem::path& path, bool is_bug_compatible, Log& log) {
  DumpFile file;
  file.path = path;
  file.is_bug_compatible = is_bug_compatible;
  if (const Status status = Reader(file, log).read(); status != Status::ok) return Failure{status, ""};
  return file;
}

DumpElements elements_of(const DumpFile& file, const DumpTensor& tensor) {
  const bool is_undeclared = tensor.data_type == kUndefined && tensor.size_bytes > 0;
  DumpElements result;
  result.shape = is_undeclared
                     ? Shape{static_cast<std::int64_t>(std::min<std::uint64_t>(tensor.size_bytes, INT64_MAX))}
                     : shape_of_dims(tensor.shape).value_or(Shape{});
  const auto wanted = model::element_count(result.shape);
  const DType dtype = stored_dtype(tensor.data_type);
  const format::Extent extent = tensor.data.value_or(format::Extent{});
  const bool takes_bytes = file.is_bug_compatible && dtype == DType::uint1;
  const std::uint64_t most =
      takes_bytes ? std::min(wanted.value_or(UINT64_MAX), extent.bytes) * 8 : wanted.value_or(UINT64_MAX);
  const std::uint64_t count = std::min(most, count_in(dtype, extent.bytes));
  result.elements.dtype = dtype;
  result.elements.count = count;
  const model::TensorView view{dtype, Shape{static_cast<std::int64_t>(count)}, {}, nullptr};
  result.elements.bytes = file.map->bytes().subspan(extent.offset, view.byte_count());
  result.elements.range = FileRange{file.path, extent.offset, view.byte_count()};
  result.elements.is_bug_compatible = file.is_bug_compatible;
  // np.array([]), whatever the dtype is.
  result.is_empty = wanted == 0u;
  result.dtype = result.is_empty ? DType::float64 : arrays::file_dtype(dtype);
  result.shape_in_file = result.shape.rank() == 0 ? Shape{static_cast<std::int64_t>(count)} : result.shape;
  result.fits = wanted == count && shape_of_dims(tensor.shape);
  return result;
}

void DumpElements::use_shape(const Shape& other) {
  shape = other;
  shape_in_file = other.rank() == 0 ? Shape{static_cast<std::int64_t>(elements.count)} : other;
  fits = model::element_count(other) == elements.count;
}

bool is_original_format(std::int32_t number) {
  constexpr std::int32_t kLast = 46, kLargest = 255, kFractalZz = 28, kNc = 35;
  return (number >= 0 && number <= kLast && number != kFractalZz && number != kNc) || number == kLargest;
}

Status check_format(std::int32_t number, Log& log) {
  if (is_original_format(number)) return Status::ok;
  return log.fail(Status::invalid_format, "The format(" + std::to_string(number) + ") does not support.");
}

std::string dump_format_name(std::int32_t number) {
  constexpr std::pair<std::int32_t, std::string_view> kTheirs[] = {
      {15, "DECONV_SP_STRIDE8_TRANS"}, {20, "LOOKUP_LOOKUPS"}, {21, "LOOKUP_KEYS"}, {22, "LOOKUP_VALUE"},
      {23, "LOOKUP_OUTPUT"},           {24, "LOOKUP_HITS"}};
  for (const auto& [theirs, name] : kTheirs)
    if (theirs == number) return std::string(name);
  if (number == 255) return "MAX";
  const std::string_view name = format::dump_format_name(number);
  return name.empty() ? std::to_string(number) : std::string(name);
}

}  // namespace opdump::msaccucmp
