#include "format/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.h"
#include "model/tensor_view.h"

namespace opdump::format {
namespace {

using model::DType;

constexpr std::pair<DType, std::string_view> kDTypes[] = {
    {DType::boolean, "BOOL"},        {DType::int8, "I8"},
    {DType::int16, "I16"},           {DType::int32, "I32"},
    {DType::int64, "I64"},           {DType::uint8, "U8"},
    {DType::uint16, "U16"},          {DType::uint32, "U32"},
    {DType::uint64, "U64"},          {DType::float16, "F16"},
    {DType::bfloat16, "BF16"},       {DType::float32, "F32"},
    {DType::float64, "F64"},         {DType::complex64, "C64"},
    {DType::float8_e4m3, "F8_E4M3"}, {DType::float8_e5m2, "F8_E5M2"},
    {DType::float8_e8m0, "F8_E8M0"}};
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 32 << 20;
constexpr std::uint64_t kMaxHeaderElsewhere = 100'000'000;  // that the format's own library reads
constexpr int kMaxDepth = 3;  // of {name: {"shape": [4]}}: deeper values are not kept
constexpr std::string_view kMetadata = "__metadata__";

using Json = nlohmann::json;

std::uint64_t header_length(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  return length;
}

std::optional<std::uint64_t> natural(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::uint64_t>();
}

std::optional<model::Shape> read_shape(const Json& dims) {
  if (!dims.is_array()) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (const Json& dim : dims) {
    const auto size = natural(dim);
    if (!size || *size > INT64_MAX) return std::nullopt;
    shape.push_back(static_cast<std::int64_t>(*size));
  }
  return model::Shape(shape);
}

// `data` bytes follow the header, which ends at `begin`.
StoredSafetensors read_entry(const std::string& name, const Json& json, std::uint64_t begin,
                             std::uint64_t data) {
  StoredSafetensors tensor;
  tensor.entry.name = name;
  const auto fault = [&](std::string text) {
    tensor.fault = std::move(text);
    return tensor;
  };
  const auto shape = json.is_object() ? read_shape(json.value("shape", Json())) : std::nullopt;
  const Json offsets = json.is_object() ? json.value("data_offsets", Json()) : Json();
  const Json dtype = json.is_object() ? json.value("dtype", Json()) : Json();
  if (!shape || !dtype.is_string() || !offsets.is_array() || offsets.size() != 2)
    return fault("no dtype, shape and data_offsets");
  tensor.entry.shape = *shape;
  for (const auto& [known, text] : kDTypes)
    if (text == dtype.get_ref<const std::string&>()) tensor.entry.dtype = known;
  if (tensor.entry.dtype == DType::undefined) return fault("dtype " + dtype.get<std::string>());
  const auto first = natural(offsets[0]), last = natural(offsets[1]);
  if (!first || !last || *first > *last || *last > data)
    return fault("torn file: its data lie beyond the end");
  tensor.data = {begin + *first, *last - *first};
  if (!model::element_count(*shape) ||
      tensor.data.bytes != model::TensorView{tensor.entry.dtype, *shape, {}, nullptr}.byte_count())
    return fault(std::to_string(tensor.data.bytes) + " bytes for " + dtype.get<std::string>() + " " +
                 model::format_shape(*shape));
  return tensor;
}

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
  for (const auto& [known, name] : kDTypes)
    if (known == dtype) return name;
  return {};
}

// Piece by piece: in an object of the library very many names would be searched one by one.
Result<> SafetensorsHeader::add(const std::string& name, model::DType dtype, const model::Shape& shape) {
  const std::string_view dtype_name = safetensors_dtype(dtype);
  if (dtype_name.empty())
    return Error(Code::unsupported,
                 name + ": .safetensors has no " + std::string(model::dtype_info(dtype).name));
  const std::uint64_t begin = offset_;
  const std::uint64_t bytes = model::TensorView{dtype, shape, {}, nullptr}.byte_count();
  if (__builtin_add_overflow(offset_, bytes, &offset_)) return Error(Code::limit, name + ": too large");
  using Json = nlohmann::ordered_json;
  const auto text_of = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  Json dims = Json::array();
  for (const std::int64_t dim : shape.dims()) dims.push_back(dim);
  text_ += count_++ == 0 ? std::string(kLengthBytes, '\0') + "{" : std::string(",");
  text_ += text_of(name) + ":" +
           text_of({{"dtype", dtype_name}, {"shape", dims}, {"data_offsets", {begin, offset_}}});
  return ok();
}

Result<std::string> SafetensorsHeader::finish() {
  if (count_ == 0) text_ = std::string(kLengthBytes, '\0') + "{";
  text_ += '}';
  text_.append((kAlignment - (text_.size() - kLengthBytes) % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = text_.size() - kLengthBytes;
  if (length > kMaxHeaderElsewhere)
    return Error(Code::limit, "the names and shapes of " + counted(count_, "tensor") + " take " +
                                  std::to_string(length) + " bytes; .safetensors has room for " +
                                  std::to_string(kMaxHeaderElsewhere));
  for (std::size_t i = 0; i < kLengthBytes; ++i) text_[i] = static_cast<char>(length >> 8 * i & 0xFF);
  return std::move(text_);
}

bool is_safetensors(std::span<const std::byte> start) {
  return start.size() > kLengthBytes && header_length(start) <= kMaxHeader &&
         start[kLengthBytes] == std::byte{'{'};
}

Result<std::vector<StoredSafetensors>> decode_safetensors(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) return Error(Code::corrupt, "too short for the length of a header");
  const std::uint64_t length = header_length(file);
  if (length > file.size() - kLengthBytes)
    return Error(Code::corrupt, "torn file: a header of " + std::to_string(length) + " bytes announced, " +
                                    std::to_string(file.size() - kLengthBytes) + " in file");
  if (length > kMaxHeader)
    return Error(Code::limit, "a header of " + std::to_string(length) + " bytes; expected up to 32 MiB");
  const std::string_view text(reinterpret_cast<const char*>(file.data() + kLengthBytes), length);
  const auto is_kept = [](int depth, Json::parse_event_t, const Json&) { return depth <= kMaxDepth; };
  const Json header = Json::parse(text, is_kept, false);
  if (!header.is_object()) return Error(Code::corrupt, "the header is no JSON object");
  std::vector<StoredSafetensors> tensors;
  const std::uint64_t begin = kLengthBytes + length;
  for (const auto& [name, entry] : header.items())
    if (name != kMetadata) tensors.push_back(read_entry(name, entry, begin, file.size() - begin));
  std::ranges::stable_sort(tensors, {}, [](const StoredSafetensors& tensor) { return tensor.data.offset; });
  return tensors;
}

}  // namespace opdump::format
