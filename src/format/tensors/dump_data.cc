#include "format/tensors/dump_data.h"

#include <algorithm>
#include <exception>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/file/content.h"
#include "format/tensors/dump_names.h"

namespace opdump::format {
namespace {

using model::DType;
using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;
using protozero::tag_and_type;

constexpr std::uint64_t kLengthBytes = 8;

// The bytes may not be a valid message. protozero throws if a length exceeds them, and asserts that a field
// has the requested type, so fields are matched by number and type together.
constexpr std::uint64_t varint(std::uint32_t field) { return tag_and_type(field, pbf_wire_type::varint); }
constexpr std::uint64_t bytes(std::uint32_t field) {
  return tag_and_type(field, pbf_wire_type::length_delimited);
}

// The field numbers of OpInput and OpOutput, which differ. 0: the message has no such field.
struct TensorFields {
  std::uint32_t data, size, original_shape, sub_format, address, offset, arg_index;
  std::uint32_t input_type, origin, dim_range;
};
constexpr TensorFields kInputFields{4, 5, 6, 7, 8, 9, 10, 11, 0, 0};
constexpr TensorFields kOutputFields{5, 6, 7, 8, 9, 11, 12, 0, 4, 10};

// Writing. Fields of value 0 are left out, as proto3 does.

void add_number(pbf_writer& writer, std::uint32_t field, std::uint64_t value) {
  if (value != 0) writer.add_uint64(field, value);
}
void add_signed(pbf_writer& writer, std::uint32_t field, std::int32_t value) {
  if (value != 0) writer.add_int32(field, value);
}
void add_text(pbf_writer& writer, std::uint32_t field, const std::string& text) {
  if (!text.empty()) writer.add_string(field, text);
}

void add_shape(pbf_writer& writer, std::uint32_t field, const std::vector<std::uint64_t>& dims) {
  std::string text;
  pbf_writer shape(text);
  shape.add_packed_uint64(1, dims.begin(), dims.end());
  writer.add_message(field, text);
}

void add_origin(pbf_writer& writer, std::uint32_t field, const DumpOrigin& origin) {
  std::string text;
  pbf_writer message(text);
  add_text(message, 1, origin.name);
  add_number(message, 2, origin.output_index);
  add_signed(message, 3, origin.data_type);
  add_signed(message, 4, origin.format);
  writer.add_message(field, text);
}

void add_dim_range(pbf_writer& writer, std::uint32_t field, const DumpDimRange& range) {
  std::string text;
  pbf_writer message(text);
  add_number(message, 1, range.start);
  add_number(message, 2, range.end);
  writer.add_message(field, text);
}

void add_tensor(pbf_writer& writer, std::uint32_t field, const DumpTensor& tensor,
                const TensorFields& fields) {
  std::string text;
  pbf_writer message(text);
  add_signed(message, 1, tensor.data_type);
  add_signed(message, 2, tensor.format);
  add_shape(message, 3, tensor.shape);
  if (fields.origin != 0 && tensor.origin) add_origin(message, fields.origin, *tensor.origin);
  add_number(message, fields.size, tensor.size_bytes);
  if (tensor.original_shape) add_shape(message, fields.original_shape, *tensor.original_shape);
  add_signed(message, fields.sub_format, tensor.sub_format);
  add_number(message, fields.address, tensor.address);
  if (fields.dim_range != 0)
    for (const auto& range : tensor.dim_ranges) add_dim_range(message, fields.dim_range, range);
  add_number(message, fields.offset, tensor.offset);
  add_number(message, fields.arg_index, tensor.arg_index);
  if (fields.input_type != 0) add_number(message, fields.input_type, tensor.input_type);
  writer.add_message(field, text);
}

void add_block(pbf_writer& writer, std::uint32_t field, const DumpBlock& block) {
  std::string text;
  pbf_writer message(text);
  add_signed(message, 1, block.kind);
  add_number(message, 3, block.size_bytes);
  writer.add_message(field, text);
}

void add_attribute(pbf_writer& writer, std::uint32_t field, const DumpAttribute& attribute) {
  std::string text;
  pbf_writer message(text);
  add_text(message, 1, attribute.name);
  add_text(message, 2, attribute.value);
  writer.add_message(field, text);
}

// Reading.

// Fills a DumpData from the message that `file` holds at some place.
class DumpHeaderReader {
 public:
  explicit DumpHeaderReader(std::span<const std::byte> file)
      : start_(reinterpret_cast<const char*>(file.data())) {}

  bool is_too_large() const { return is_too_large_; }

  DumpData read(pbf_reader message) {
    DumpData data;
    data.version.clear();
    while (message.next()) switch (message.tag_and_type()) {
        case bytes(1):
          data.version = message.get_string();
          break;
        case varint(2):
          data.dump_time_us = message.get_uint64();
          break;
        case bytes(3):
          read_tensor(message.get_message(), kOutputFields, append(data.outputs));
          break;
        case bytes(4):
          read_tensor(message.get_message(), kInputFields, append(data.inputs));
          break;
        case bytes(5):
          read_block(message.get_message(), append(data.buffers));
          break;
        case bytes(6):
          data.op_name = message.get_string();
          break;
        case bytes(7):
          read_attribute(message.get_message(), append(data.attributes));
          break;
        case bytes(8):
          read_block(message.get_message(), append(data.spaces));
          break;
        case bytes(9):
          data.dfx_message = message.get_string();
          break;
        default:
          message.skip();
      }
    return data;
  }

 private:
  // Of a list that is full, the last entry once more: all of it is given up in the end.
  template <typename T>
  T& append(std::vector<T>& list) {
    if (list.size() < kMaxDumpEntries) return list.emplace_back();
    is_too_large_ = true;
    return list.back();
  }

  void read_dims(pbf_reader message, std::vector<std::uint64_t>& dims) {
    while (message.next()) switch (message.tag_and_type()) {
        case bytes(1):
          for (const std::uint64_t dim : message.get_packed_uint64()) append(dims) = dim;
          break;
        case varint(1):
          append(dims) = message.get_uint64();
          break;
        default:
          message.skip();
      }
  }

  static void read_origin(pbf_reader message, DumpOrigin& origin) {
    while (message.next()) switch (message.tag_and_type()) {
        case bytes(1):
          origin.name = message.get_string();
          break;
        case varint(2):
          origin.output_index = message.get_uint32();
          break;
        case varint(3):
          origin.data_type = message.get_int32();
          break;
        case varint(4):
          origin.format = message.get_int32();
          break;
        default:
          message.skip();
      }
  }

  static void read_dim_range(pbf_reader message, DumpDimRange& range) {
    while (message.next()) switch (message.tag_and_type()) {
        case varint(1):
          range.start = message.get_uint64();
          break;
        case varint(2):
          range.end = message.get_uint64();
          break;
        default:
          message.skip();
      }
  }

  static void read_attribute(pbf_reader message, DumpAttribute& attribute) {
    while (message.next()) switch (message.tag_and_type()) {
        case bytes(1):
          attribute.name = message.get_string();
          break;
        case bytes(2):
          attribute.value = message.get_string();
          break;
        default:
          message.skip();
      }
  }

  void read_block(pbf_reader message, DumpBlock& block) {
    while (message.next()) switch (message.tag_and_type()) {
        case varint(1):
          block.kind = message.get_int32();
          break;
        case bytes(2):
          block.data = extent_of(message.get_view());
          break;
        case varint(3):
          block.size_bytes = message.get_uint64();
          break;
        default:
          message.skip();
      }
  }

  void read_tensor(pbf_reader message, const TensorFields& fields, DumpTensor& tensor) {
    while (message.next()) {
      const std::uint64_t tag = message.tag_and_type();
      if (tag == varint(1))
        tensor.data_type = message.get_int32();
      else if (tag == varint(2))
        tensor.format = message.get_int32();
      else if (tag == bytes(3))
        read_dims(message.get_message(), tensor.shape);
      else if (tag == bytes(fields.data))
        tensor.data = extent_of(message.get_view());
      else if (tag == varint(fields.size))
        tensor.size_bytes = message.get_uint64();
      else if (tag == bytes(fields.original_shape))
        read_dims(message.get_message(), tensor.original_shape.emplace());
      else if (tag == varint(fields.sub_format))
        tensor.sub_format = message.get_int32();
      else if (tag == varint(fields.address))
        tensor.address = message.get_uint64();
      else if (tag == varint(fields.offset))
        tensor.offset = message.get_uint64();
      else if (tag == varint(fields.arg_index))
        tensor.arg_index = message.get_uint32();
      else if (tag == varint(fields.input_type))
        tensor.input_type = message.get_uint32();
      else if (tag == bytes(fields.origin))
        read_origin(message.get_message(), tensor.origin.emplace());
      else if (tag == bytes(fields.dim_range))
        read_dim_range(message.get_message(), append(tensor.dim_ranges));
      else
        message.skip();
    }
  }

  // The bytes of a version 1 file; an empty field says nothing.
  std::optional<Extent> extent_of(protozero::data_view view) const {
    if (view.size() == 0) return std::nullopt;
    return Extent{static_cast<std::uint64_t>(view.data() - start_), view.size()};
  }

  const char* start_;
  bool is_too_large_ = false;
};

Result<DumpData> read_message(std::span<const std::byte> file, Extent message) {
  try {
    DumpHeaderReader reader(file);
    const char* const start = reinterpret_cast<const char*>(file.data()) + message.offset;
    DumpData data = reader.read(pbf_reader(start, message.bytes));
    if (!reader.is_too_large()) return data;
    return Error(Code::limit, "header: more than " + std::to_string(kMaxDumpEntries) + " entries");
  } catch (const std::exception& e) {
    return Error(Code::corrupt,
                 with_content(std::string("header: not a DumpData message: ") + e.what(), file));
  }
}

template <typename F>
void for_each_entry(DumpData& data, const F& use) {
  std::ranges::for_each(data.inputs, use);
  std::ranges::for_each(data.outputs, use);
  std::ranges::for_each(data.buffers, use);
  std::ranges::for_each(data.spaces, use);
}

// Locates, in the payload that begins at `offset`, everything that is not in the message itself.
void place_payload(DumpData& data, std::uint64_t offset, std::uint64_t file_bytes) {
  data.payload_bytes = file_bytes - offset;
  for_each_entry(data, [&](const auto& entry) {
    if (entry.data) return;
    const std::uint64_t sum = data.announced_bytes + entry.size_bytes;
    data.announced_bytes = sum < entry.size_bytes ? UINT64_MAX : sum;
  });
  if (data.announced_bytes > data.payload_bytes) return;
  for_each_entry(data, [&](auto& entry) {
    if (entry.data) return;
    entry.data = Extent{offset, entry.size_bytes};
    offset += entry.size_bytes;
  });
}

std::uint64_t decode_length(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  for (std::uint64_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(file[i]) << 8 * i;
  return length;
}

std::optional<model::Shape> to_shape(const std::vector<std::uint64_t>& dims) {
  if (std::ranges::any_of(dims, [](std::uint64_t dim) { return dim > INT64_MAX; })) return std::nullopt;
  return model::Shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
}

}  // namespace

std::string encode_dump_header(const DumpData& data) {
  std::string text(kLengthBytes, '\0');
  pbf_writer message(text);
  add_text(message, 1, data.version);
  add_number(message, 2, data.dump_time_us);
  for (const DumpTensor& tensor : data.outputs) add_tensor(message, 3, tensor, kOutputFields);
  for (const DumpTensor& tensor : data.inputs) add_tensor(message, 4, tensor, kInputFields);
  for (const DumpBlock& buffer : data.buffers) add_block(message, 5, buffer);
  add_text(message, 6, data.op_name);
  for (const DumpAttribute& attribute : data.attributes) add_attribute(message, 7, attribute);
  for (const DumpBlock& space : data.spaces) add_block(message, 8, space);
  add_text(message, 9, data.dfx_message);
  const std::uint64_t length = text.size() - kLengthBytes;
  for (std::uint64_t i = 0; i < kLengthBytes; ++i) text[i] = static_cast<char>(length >> 8 * i & 0xFF);
  return text;
}

Result<DumpData> decode_dump_data(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes)
    return Error(Code::corrupt, with_content("header: a length of 8 bytes expected, " +
                                                 std::to_string(file.size()) + " bytes in file",
                                             file));
  const std::uint64_t length = decode_length(file);
  const std::uint64_t available = file.size() - kLengthBytes;
  if (length == 0) return Error(Code::corrupt, with_content("header: 0 bytes announced", file));
  if (length > available) {
    // The first bytes of a version 1 file are its version, and as a length far too large.
    auto first_version = read_message(file, {0, file.size()});
    if (first_version && !first_version->version.empty()) {
      place_payload(*first_version, file.size(), file.size());
      return first_version;
    }
    if (std::string content = describe_content(file); !content.empty())
      return Error(Code::corrupt, std::move(content));
    if (length > kMaxDumpHeader)  // these bytes are no length
      return Error(Code::corrupt, "its first bytes are those of no file that opdump reads");
    return Error(Code::corrupt, "header: " + std::to_string(length) + " bytes announced, " +
                                    std::to_string(available) + " in file");
  }
  if (length > kMaxDumpHeader)
    return Error(Code::limit,
                 "header of " + std::to_string(length) + " bytes; at most " + std::to_string(kMaxDumpHeader));
  OPDUMP_TRY(DumpData data, read_message(file, {kLengthBytes, length}));
  place_payload(data, kLengthBytes + length, file.size());
  return data;
}

Result<DumpArray> read_dump_array(const DumpTensor& tensor) {
  const DType dtype = dump_dtype(tensor.data_type);
  if (dtype == DType::undefined) {
    const std::string_view name = dump_dtype_name(tensor.data_type);
    return Error(Code::unsupported,
                 "dtype " + (name.empty() ? std::to_string(tensor.data_type) : std::string(name)) +
                     "; expected one of the numeric types");
  }
  const auto shape = to_shape(tensor.shape);
  const auto count = shape ? model::element_count(*shape) : std::nullopt;
  if (!count) return Error(Code::corrupt, "shape is larger than any file");
  const std::uint64_t bits = model::dtype_info(dtype).bits;
  const std::uint64_t needed = *count / 8 * bits + (*count % 8 * bits + 7) / 8;
  if (*count > (UINT64_MAX >> 8) || needed > tensor.size_bytes)
    return Error(Code::corrupt, "shape " + model::format_shape(*shape) + " of " +
                                    std::string(model::dtype_info(dtype).name) + ", and " +
                                    std::to_string(tensor.size_bytes) + " bytes announced");
  if (!tensor.data || tensor.data->bytes < needed)
    return Error(Code::corrupt, "fewer bytes in file than the header announces");
  return DumpArray{dtype, *shape, {tensor.data->offset, needed}};
}

}  // namespace opdump::format
