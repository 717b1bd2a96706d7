#include "msaccucmp/read/dumped_tensor.h"

#include <algorithm>
#include <utility>

#include "base/file/file.h"
#include "base/file/scratch.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/dump_names.h"
#include "format/tensors/npy.h"
#include "format/tensors/tlv_dump.h"
#include "math/convert.h"
#include "math/layout/strided_copy.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/dump_header.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

using format::DumpTensor;
using model::DType;
using model::Shape;

constexpr std::uint64_t kPiece = 1 << 20;  // elements that are converted at a time
constexpr std::size_t kMagicEnd = 12;      // what a .npy file begins with is not text
constexpr std::int32_t kNoDtype = 0;       // of DumpData

bool is_packed(DType dtype) { return model::dtype_info(dtype).bits < 8; }

Shape row_of(std::uint64_t count) { return {static_cast<std::int64_t>(count)}; }

// What NumPy says of an array file that it cannot read, where it is `error` to us.
std::string numpy_problem(std::span<const std::byte> file, const Error& error) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with("\x93NUMPY"))
    return "Cannot load file containing pickled data when allow_pickle=False";
  if (text.size() < 8)
    return "EOF: reading magic string, expected 8 bytes got " + std::to_string(text.size());
  if (text[6] < 1 || text[6] > 3 || text[7] != 0)
    return "we only support format version (1,0), (2,0), and (3,0), not (" +
           std::to_string(static_cast<unsigned char>(text[6])) + ", " +
           std::to_string(static_cast<unsigned char>(text[7])) + ")";
  const std::string_view start = text.substr(0, text.find('\n', kMagicEnd));
  if (start.find("'|O'") != std::string_view::npos)
    return "Object arrays cannot be loaded when allow_pickle=False";
  const auto header = format::decode_npy_header(file, UINT64_MAX);
  if (!header) return error.message();
  const std::uint64_t size = std::max<std::uint64_t>(model::dtype_info(header->dtype).bits / 8, 1);
  return cannot_reshape((file.size() - header->data_offset) / size, header->shape);
}

class TensorReader {
 public:
  TensorReader(std::string path, Log& log) : path_(std::move(path)), log_(log) {}

  Outcome<std::monostate> map() {
    auto mapped = MappedFile::open(path_);
    if (!mapped) {
      log_.error("Failed to read the dump file '" + path_ + "'. " + mapped.error().message());
      return Failure{Status::open_file, ""};
    }
    file_ = std::make_shared<MappedFile>(std::move(*mapped));
    return std::monostate{};
  }

  Outcome<DumpedOperator> read() {
    OPDUMP_TRY([[maybe_unused]] const std::monostate mapped, map());
    if (bytes().empty()) return is_empty();
    warn_of_size();
    if (path_.ends_with(".npy")) return read_npy();  // warns once more
    DumpedOperator op;
    op.path = path_;
    if (!format::is_tlv_dump(bytes())) warn_of_size();  // twice there
    OPDUMP_TRY(const DumpHeader header, decode_header(path_, bytes(), false, log_));
    const format::DumpData& data = header.data;
    op.name = data.op_name;
    if (!data.attributes.empty()) op.attributes = data.attributes[0].value;
    for (const DumpTensor& tensor : data.outputs) {
      OPDUMP_TRY(DumpedTensor read, read_tensor(tensor));
      op.outputs.push_back(std::move(read));
    }
    for (const DumpTensor& tensor : data.inputs) {
      OPDUMP_TRY(DumpedTensor read, read_tensor(tensor));
      op.inputs.push_back(std::move(read));
    }
    return op;
  }

  Outcome<TensorData> read_array() {
    if (bytes().empty()) return is_empty();
    warn_of_size();
    auto header = format::decode_npy_header(bytes());
    const bool is_swapped = !header && read_big_endian_header(header);
    if (!header) {
      log_.error("Failed to parse dump file \"'" + path_ +
                 "'\". Only data of the numpy format is supported. " +
                 numpy_problem(bytes(), header.error()));
      return Failure{Status::invalid_dump, ""};
    }
    TensorData data{header->dtype, header->shape, bytes().data() + header->data_offset, file_};
    if (is_swapped) {
      OPDUMP_TRY(data, swapped(data));
    }
    if (!header->fortran_order || header->shape.rank() < 2) return data;
    return in_rows(data);
  }

 private:
  std::span<const std::byte> bytes() const { return file_->bytes(); }

  void warn_of_size() {
    if (auto remark = large_file_remark(path_, bytes().size())) log_.warn(std::move(*remark));
  }

  Failure is_empty() {
    return log_.fail(Status::invalid_dump, "Failed to parse dump file '" + path_ +
                                               "'. The file size is zero. Please check the dump file.");
  }

  // NumPy reads arrays of the other byte order as well. False: `header` stays as it is.
  bool read_big_endian_header(Result<format::NpyHeader>& header) const {
    constexpr std::string_view kBig = "'>";
    const auto* text = reinterpret_cast<const char*>(bytes().data());
    std::string start(text, std::min(bytes().size(), 12 + format::kMaxNpyHeader));
    const std::size_t at = start.find(kBig);
    if (at >= start.find('\n', kMagicEnd)) return false;
    start[at + 1] = '<';
    auto read = format::decode_npy_header(std::as_bytes(std::span(start)), bytes().size());
    if (!read) return false;
    header = std::move(read);
    return true;
  }

  Outcome<TensorData> swapped(const TensorData& data) const {
    const model::DTypeInfo& info = model::dtype_info(data.dtype);
    const bool is_complex = info.kind == model::DTypeKind::complex;  // two numbers
    const std::size_t size = info.bits / 8 / (is_complex ? 2 : 1);
    const std::uint64_t count = data.view().byte_count();
    OPDUMP_TRY(const auto memory, make_memory(count, log_));
    for (std::uint64_t at = 0; at < count; at += size)
      std::reverse_copy(data.bytes + at, data.bytes + at + size, memory.get() + at);
    return TensorData{data.dtype, data.shape, memory.get(), memory};
  }

  // Elements that lie column by column.
  Outcome<TensorData> in_rows(const TensorData& columns) const {
    model::TensorView view = columns.view();
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < view.shape.rank(); ++i) {
      view.strides.dims()[i] = stride;
      stride *= view.shape[i];
    }
    OPDUMP_TRY(const auto memory, make_memory(view.byte_count(), log_));
    math::copy_row_major(view, {memory.get(), view.byte_count()});
    return TensorData{columns.dtype, columns.shape, memory.get(), memory};
  }

  Outcome<DumpedOperator> read_npy() {
    OPDUMP_TRY(TensorData data, read_array());
    DumpedOperator op;
    op.path = path_;
    DumpedTensor tensor;
    tensor.data_type = format::dump_dtype_number(data.dtype);
    tensor.format = model::Format::reserved;
    tensor.shape = data.shape;
    tensor.data = data.flat();
    op.outputs.push_back(std::move(tensor));
    return op;
  }

  Outcome<DumpedTensor> read_tensor(const DumpTensor& tensor) {
    DumpedTensor result;
    const auto shape = shape_of_dims(tensor.shape);
    const auto original = shape_of_dims(tensor.original_shape.value_or(std::vector<std::uint64_t>()));
    if (!shape || !original || !model::element_count(*shape))
      return log_.fail(Status::invalid_dump, "A shape in " + path_ + " is larger than any file.");
    result.data_type = tensor.data_type;
    result.format = static_cast<model::Format>(std::clamp(tensor.format, 0, 255));
    result.shape = tensor.data_type == kNoDtype && tensor.size_bytes > 0 ? row_of(tensor.size_bytes) : *shape;
    result.original_shape = *original;
    result.address = tensor.address;
    result.groups = tensor.sub_format;
    OPDUMP_TRY(result.data, read_elements(tensor, result.shape));
    return result;
  }

  // As many elements as the shape says, or as there are.
  Outcome<TensorData> read_elements(const DumpTensor& tensor, const Shape& shape) {
    const DType dtype = stored_dtype(tensor.data_type);
    if (dtype == DType::undefined)
      return log_.fail(Status::invalid_dtype, unsupported_dtype(tensor.data_type));
    const std::uint64_t wanted = *model::element_count(shape);
    if (wanted == 0) return TensorData{DType::float64, shape, nullptr, nullptr};
    const format::Extent extent = tensor.data.value_or(format::Extent{});
    const std::byte* data = bytes().data() + extent.offset;
    const std::uint64_t bits = model::dtype_info(dtype).bits;
    // A shape of uint1 counts bytes.
    const std::uint64_t room = extent.bytes > UINT64_MAX / 8 ? 0 : extent.bytes * 8 / bits;
    if (!is_packed(dtype)) return TensorData{dtype, row_of(std::min(wanted, room)), data, file_};
    const std::uint64_t count =
        dtype == DType::uint1 ? std::min(wanted, extent.bytes) * 8 : std::min(wanted, room);
    const DType wide = math::array_dtype(dtype);
    const std::uint64_t size = count * (model::dtype_info(wide).bits / 8);
    OPDUMP_TRY(const auto memory, make_memory(size, log_));
    const std::uint64_t wide_bytes = model::dtype_info(wide).bits / 8;
    for (std::uint64_t at = 0; at < count; at += kPiece) {
      const std::uint64_t piece = std::min(kPiece, count - at);
      math::convert_to_array(dtype, data + at / 8 * bits, memory.get() + at * wide_bytes, piece);
    }
    return TensorData{wide, row_of(count), memory.get(), memory};
  }

  std::string path_;
  Log& log_;
  std::shared_ptr<MappedFile> file_;
};

}  // namespace

TensorData TensorData::flat() const { return {dtype, row_of(count()), bytes, owner}; }

std::string TensorData::numpy_name() const {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  if (info.kind == model::DTypeKind::floating && info.bits <= 8) return "float64";
  return std::string(model::dtype_info(math::array_dtype(dtype)).name);
}

Outcome<std::shared_ptr<std::byte>> make_memory(std::uint64_t bytes, Log& log) {
  auto made = Scratch::make(std::max<std::uint64_t>(bytes, 1));
  if (!made) return log.fail(Status::unknown, made.error().message());
  const auto scratch = std::make_shared<Scratch>(std::move(*made));
  return std::shared_ptr<std::byte>(scratch, scratch->data());
}

Outcome<DumpedOperator> read_dumped_operator(const std::string& path, Log& log) {
  return TensorReader(path, log).read();
}

Outcome<TensorData> read_npy_array(const std::string& path, Log& log) {
  TensorReader reader(path, log);
  OPDUMP_TRY([[maybe_unused]] const std::monostate mapped, reader.map());
  return reader.read_array();
}

bool is_scalar_shape(const Shape& shape) {
  std::int64_t sum = 0;
  for (const std::int64_t dim : shape.dims())
    if (__builtin_add_overflow(sum, dim, &sum)) return false;
  return sum == static_cast<std::int64_t>(shape.rank());
}

}  // namespace opdump::msaccucmp
