#include "format/tensors/onnx_tensor.h"

#include <cstring>
#include <exception>
#include <protozero/pbf_reader.hpp>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "model/tensor_view.h"

namespace opdump::format {
namespace {

using model::DType;
using Wire = protozero::pbf_wire_type;

enum TensorField : protozero::pbf_tag_type {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14,
};
// Of ModelProto, GraphProto and StringStringEntryProto.
constexpr protozero::pbf_tag_type kModelGraph = 7, kInitializer = 5, kEntryKey = 1, kEntryValue = 2;

Error corrupt(std::string message) { return {Code::corrupt, "tensor: " + std::move(message)}; }

DType dtype_of(std::int64_t number) {
  switch (number) {
    case 1:
      return DType::float32;
    case 2:
      return DType::uint8;
    case 3:
      return DType::int8;
    case 4:
      return DType::uint16;
    case 5:
      return DType::int16;
    case 6:
      return DType::int32;
    case 7:
      return DType::int64;
    case 9:
      return DType::boolean;
    case 10:
      return DType::float16;
    case 11:
      return DType::float64;
    case 12:
      return DType::uint32;
    case 13:
      return DType::uint64;
    case 14:
      return DType::complex64;
    case 15:
      return DType::complex128;
    case 16:
      return DType::bfloat16;
    case 17:
      return DType::float8_e4m3;
    case 19:
      return DType::float8_e5m2;
    case 22:
      return DType::int4;
    default:
      return DType::undefined;
  }
}

// Which repeated field holds the numbers of a dtype, where they are no raw bytes.
TensorField field_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::complex64:
      return kFloatData;
    case DType::float64:
    case DType::complex128:
      return kDoubleData;
    case DType::int64:
      return kInt64Data;
    case DType::uint32:
    case DType::uint64:
      return kUint64Data;
    default:
      return kInt32Data;
  }
}

// Writes numbers one after the other into memory of a known size; says whether there were exactly as many.
class ElementWriter {
 public:
  ElementWriter(std::byte* at, std::uint64_t bytes) : at_(at), left_(bytes) {}

  // The lowest `bytes` bytes of `value`.
  template <typename T>
  void put(T value, std::size_t bytes = sizeof(T)) {
    if (bytes > left_) {
      is_too_long_ = true;
      return;
    }
    std::memcpy(at_, &value, bytes);
    at_ += bytes;
    left_ -= bytes;
  }
  bool is_exact() const { return left_ == 0 && !is_too_long_; }

 private:
  std::byte* at_;
  std::uint64_t left_;
  bool is_too_long_ = false;
};

constexpr std::uint32_t field(TensorField number, Wire wire) { return protozero::tag_and_type(number, wire); }

// Packed or one by one: writers may choose. A field of another type is none of ours.
void put_numbers(protozero::pbf_reader& message, std::size_t bytes, ElementWriter& out) {
  const auto put_each = [&](const auto& range) {
    for (const auto value : range) out.put(value);
  };
  const auto put_low = [&](const auto& range) {
    for (const auto value : range) out.put(value, bytes);
  };
  switch (message.tag_and_type()) {
    case field(kFloatData, Wire::length_delimited):
      return put_each(message.get_packed_float());
    case field(kFloatData, Wire::fixed32):
      return out.put(message.get_float());
    case field(kDoubleData, Wire::length_delimited):
      return put_each(message.get_packed_double());
    case field(kDoubleData, Wire::fixed64):
      return out.put(message.get_double());
    case field(kInt64Data, Wire::length_delimited):
      return put_each(message.get_packed_int64());
    case field(kInt64Data, Wire::varint):
      return out.put(message.get_int64());
    case field(kUint64Data, Wire::length_delimited):
      return put_low(message.get_packed_uint64());
    case field(kUint64Data, Wire::varint):
      return out.put(message.get_uint64(), bytes);
    case field(kInt32Data, Wire::length_delimited):
      return put_low(message.get_packed_int32());
    case field(kInt32Data, Wire::varint):
      return out.put(message.get_int32(), bytes);
    default:
      message.skip();
  }
}

struct Parsed {
  OnnxTensor tensor;
  OnnxExternal external;
  bool is_external = false, is_part = false, has_type = false;
};

// An entry of external_data: "location", "offset", "length".
void take_entry(protozero::pbf_reader entry, OnnxExternal& external) {
  std::string key, value;
  while (entry.next()) {
    if (entry.tag_and_type() == protozero::tag_and_type(kEntryKey, Wire::length_delimited))
      key = entry.get_string();
    else if (entry.tag_and_type() == protozero::tag_and_type(kEntryValue, Wire::length_delimited))
      value = entry.get_string();
    else
      entry.skip();
  }
  if (key == "location") external.location = value;
  if (key == "offset") external.offset = parse_uint64(value).value_or(UINT64_MAX);
  if (key == "length") external.bytes = parse_uint64(value).value_or(UINT64_MAX);
}

Parsed parse(std::string_view text) {
  Parsed parsed;
  std::vector<std::int64_t> dims;
  protozero::pbf_reader message(text.data(), text.size());
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(kDims, Wire::length_delimited):
        for (const std::int64_t dim : message.get_packed_int64()) dims.push_back(dim);
        break;
      case field(kDims, Wire::varint):
        dims.push_back(message.get_int64());
        break;
      case field(kDataType, Wire::varint):
        parsed.tensor.dtype = dtype_of(message.get_int32());
        parsed.has_type = true;
        break;
      case field(kSegment, Wire::length_delimited):
        parsed.is_part = true;
        message.skip();
        break;
      case field(kName, Wire::length_delimited):
        parsed.tensor.name = message.get_string();
        break;
      case field(kRawData, Wire::length_delimited): {
        const auto raw = message.get_view();
        parsed.tensor.raw = Extent{static_cast<std::uint64_t>(raw.data() - text.data()), raw.size()};
        break;
      }
      case field(kDataLocation, Wire::varint):
        parsed.is_external = message.get_int32() == 1;
        break;
      case field(kExternalData, Wire::length_delimited):
        take_entry(message.get_message(), parsed.external);
        break;
      default:
        message.skip();
    }
  }
  parsed.tensor.shape = model::Shape(dims);
  return parsed;
}

std::string_view text_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

std::uint64_t bytes_of(const OnnxTensor& tensor) {
  return model::TensorView{tensor.dtype, tensor.shape, {}, nullptr}.byte_count();
}

Result<> check(const Parsed& parsed, std::uint64_t file_bytes, bool may_be_external) {
  const OnnxTensor& tensor = parsed.tensor;
  if (!parsed.has_type) return corrupt("it says no type of its elements");
  if (tensor.dtype == DType::undefined || parsed.is_part)
    return Error(Code::unsupported, "tensor: text, or elements of a type that is not read");
  if (parsed.is_external && !may_be_external)
    return Error(Code::unsupported, "tensor: its elements lie in another file, which is not opened");
  const auto count = model::element_count(tensor.shape);
  if (count && parsed.is_external) return ok();
  if (!count) return corrupt("shape " + model::format_shape(tensor.shape) + " is larger than any file");
  const std::uint64_t bytes = bytes_of(tensor);
  if (tensor.raw ? tensor.raw->bytes != bytes : *count > file_bytes)
    return corrupt("shape " + model::format_shape(tensor.shape) + " does not agree with the data of " +
                   std::to_string(tensor.raw ? tensor.raw->bytes : file_bytes) + " bytes");
  return ok();
}

}  // namespace

Result<OnnxTensor> decode_onnx_tensor(std::span<const std::byte> file) {
  try {
    Parsed parsed = parse(text_of(file));
    OPDUMP_CHECK_OK(check(parsed, file.size(), false));
    return std::move(parsed.tensor);
  } catch (const std::exception& fault) {
    return corrupt(std::string("not a TensorProto: ") + fault.what());
  }
}

namespace {

// `bytes` lie in `file`.
OnnxInitializer read_initializer(std::string_view bytes, std::string_view file) {
  OnnxInitializer initializer;
  initializer.message = {static_cast<std::uint64_t>(bytes.data() - file.data()), bytes.size()};
  Parsed parsed = parse(bytes);
  if (auto checked = check(parsed, bytes.size(), true); !checked)
    initializer.fault = checked.error().message();
  if (parsed.is_external) parsed.tensor.external = std::move(parsed.external);
  if (parsed.tensor.raw) parsed.tensor.raw->offset += initializer.message.offset;
  initializer.tensor = std::move(parsed.tensor);
  return initializer;
}

}  // namespace

Result<> list_onnx_initializers(std::span<const std::byte> file,
                                const std::function<void(OnnxInitializer)>& take) {
  const std::string_view text = text_of(file);
  bool has_graph = false;
  try {
    protozero::pbf_reader model(text.data(), text.size());
    while (model.next(kModelGraph, Wire::length_delimited)) {
      has_graph = true;
      protozero::pbf_reader graph = model.get_message();
      while (graph.next(kInitializer, Wire::length_delimited)) {
        const auto bytes = graph.get_view();
        take(read_initializer({bytes.data(), bytes.size()}, text));
      }
    }
  } catch (const std::exception& fault) {
    return Error(Code::corrupt, std::string("not a model of ONNX: ") + fault.what());
  }
  if (!has_graph) return Error(Code::corrupt, "not a model of ONNX: it has no graph");
  return ok();
}

Result<Scratch> read_onnx_elements(std::span<const std::byte> file, const OnnxTensor& tensor) {
  const std::uint64_t bytes = bytes_of(tensor);
  if (bytes / 16 > file.size()) return corrupt("more elements than the file can hold");
  OPDUMP_TRY(Scratch elements, Scratch::make(bytes));
  ElementWriter out(elements.data(), bytes);
  const TensorField wanted = field_of(tensor.dtype);
  const std::size_t element_bytes =
      model::dtype_info(tensor.dtype).bits < 8 ? 1 : model::dtype_info(tensor.dtype).bits / 8;
  try {
    protozero::pbf_reader message(text_of(file).data(), file.size());
    while (message.next()) {
      if (message.tag() == wanted)
        put_numbers(message, element_bytes, out);
      else
        message.skip();
    }
  } catch (const std::exception& fault) {
    return corrupt(std::string("not a TensorProto: ") + fault.what());
  }
  if (!out.is_exact()) return corrupt("other than " + std::to_string(bytes) + " bytes of elements");
  return elements;
}

}  // namespace opdump::format
