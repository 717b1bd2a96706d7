#include "format/safetensors.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "model/tensor_view.h"

namespace opdump::format {
namespace {

using model::DType;

constexpr std::pair<DType, std::string_view> kDTypes[] = {
    {DType::boolean, "BOOL"}, {DType::int8, "I8"},      {DType::int16, "I16"},     {DType::int32, "I32"},
    {DType::int64, "I64"},    {DType::uint8, "U8"},     {DType::uint16, "U16"},    {DType::uint32, "U32"},
    {DType::uint64, "U64"},   {DType::float16, "F16"},  {DType::bfloat16, "BF16"}, {DType::float32, "F32"},
    {DType::float64, "F64"},  {DType::complex64, "C64"}};
constexpr std::size_t kAlignment = 8;

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
  for (const auto& [known, name] : kDTypes)
    if (known == dtype) return name;
  return {};
}

Result<std::string> encode_safetensors_header(std::span<const SafetensorsEntry> entries) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t offset = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::string_view dtype = safetensors_dtype(entry.dtype);
    if (dtype.empty())
      return Error(Code::unsupported,
                   entry.name + ": .safetensors has no " + std::string(model::dtype_info(entry.dtype).name));
    const std::uint64_t begin = offset;
    const std::uint64_t bytes = model::TensorView{entry.dtype, entry.shape, {}, nullptr}.byte_count();
    if (__builtin_add_overflow(offset, bytes, &offset)) return Error(Code::limit, entry.name + ": too large");
    nlohmann::ordered_json shape = nlohmann::ordered_json::array();
    for (const std::int64_t dim : entry.shape.dims()) shape.push_back(dim);
    header[entry.name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, offset}}};
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  std::string result;
  for (std::size_t i = 0; i < 8; ++i) result.push_back(static_cast<char>(text.size() >> 8 * i & 0xFF));
  return result + text;
}

}  // namespace opdump::format
