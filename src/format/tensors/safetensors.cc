#include "format/tensors/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"
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
constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadata = "__metadata__";

using Json = nlohmann::json;

std::uint64_t header_length(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(file[i]);
  return length;
}

// An entry of the header as its parts are read.
struct TensorEntry {
  std::string dtype;
  bool has_dtype = false;
  std::vector<std::uint64_t> shape, offsets;
  bool has_shape = false, has_offsets = false;
};

// What an entry says of a tensor; `data` bytes follow the header, which ends at `begin`.
StoredSafetensors make_tensor(std::string name, const TensorEntry& entry, std::uint64_t begin,
                              std::uint64_t data) {
  constexpr std::size_t kLongest = 64;  // of a text in a message
  StoredSafetensors tensor;
  tensor.entry.name = std::move(name);
  if (!entry.has_dtype || !entry.has_shape || !entry.has_offsets || entry.offsets.size() != 2) {
    tensor.fault = "no dtype, shape and data_offsets";
    return tensor;
  }
  const std::vector<std::int64_t> dims(entry.shape.begin(), entry.shape.end());
  tensor.entry.shape = model::Shape(dims);
  for (const auto& [known, text] : kDTypes)
    if (text == entry.dtype) tensor.entry.dtype = known;
  if (tensor.entry.dtype == DType::undefined) {
    tensor.fault = "dtype " + entry.dtype.substr(0, kLongest);
    return tensor;
  }
  const std::uint64_t first = entry.offsets[0], last = entry.offsets[1];
  if (first > last || last > data) {
    tensor.fault = "torn file: its data lie beyond the end";
    return tensor;
  }
  tensor.data = {begin + first, last - first};
  if (!model::element_count(tensor.entry.shape) ||
      tensor.data.bytes !=
          model::TensorView{tensor.entry.dtype, tensor.entry.shape, {}, nullptr}.byte_count())
    tensor.fault = std::to_string(tensor.data.bytes) + " bytes for " + entry.dtype + " " +
                   model::format_shape(tensor.entry.shape);
  return tensor;
}

// Reads a header without keeping it: {"NAME": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}, ...}.
// What lies deeper, or elsewhere, is passed over.
class SafetensorsHeaderReader final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeaderReader(std::uint64_t begin, std::uint64_t data, const TakeSafetensors& take)
      : begin_(begin), data_(data), take_(take) {}

  bool null() override { return pass_value(); }
  bool boolean(bool) override { return pass_value(); }
  bool number_integer(number_integer_t) override { return pass_value(); }
  bool number_float(number_float_t, const string_t&) override { return pass_value(); }
  bool binary(binary_t&) override { return pass_value(); }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != kInList || list_ == nullptr) return pass_value();
    if (list_->size() == kMostDims || value > INT64_MAX) return spoil_list();
    list_->push_back(value);
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ != kInEntry || field_ != "dtype") return pass_value();
    entry_.dtype = text;
    return entry_.has_dtype = true;
  }
  bool key(string_t& text) override {
    if (depth_ == kInHeader)
      name_ = std::move(text);
    else if (depth_ == kInEntry)
      field_ = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == kInList) spoil_list();
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == kInHeader) finish_entry();
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == kInList) spoil_list();
    if (++depth_ == kInList) begin_list();
    return true;
  }
  bool end_array() override {
    if (--depth_ == kInHeader) finish_entry();
    if (depth_ == kInEntry) list_ = nullptr;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  static constexpr int kInHeader = 1, kInEntry = 2, kInList = 3;  // the depth of what is being read
  static constexpr std::size_t kMostDims = 1024;

  bool pass_value() {
    if (depth_ == kInHeader) finish_entry();
    if (depth_ == kInList) spoil_list();
    return true;
  }
  void begin_list() {
    list_ = field_ == "shape" ? &entry_.shape : field_ == "data_offsets" ? &entry_.offsets : nullptr;
    if (list_ == nullptr) return;
    list_->clear();
    (list_ == &entry_.shape ? entry_.has_shape : entry_.has_offsets) = true;
  }
  bool spoil_list() {
    if (list_ != nullptr) (list_ == &entry_.shape ? entry_.has_shape : entry_.has_offsets) = false;
    list_ = nullptr;
    return true;
  }
  void finish_entry() {
    const TensorEntry entry = std::exchange(entry_, {});
    field_.clear();
    list_ = nullptr;
    if (name_ != kMetadata) take_(make_tensor(std::move(name_), entry, begin_, data_));
  }

  std::uint64_t begin_, data_;
  const TakeSafetensors& take_;
  int depth_ = 0;
  std::string name_, field_;
  TensorEntry entry_;
  std::vector<std::uint64_t>* list_ = nullptr;  // of entry_; null where the numbers are not needed
};

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
  std::string text = count_++ == 0 ? "{" : ",";
  text += json_text(Json(name));
  text.append(R"(:{"dtype":")").append(dtype_name).append(R"(","shape":[)");
  for (std::size_t i = 0; i < shape.rank(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  text += R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(offset_) + "]}";
  text_.append(text);
  return ok();
}

Result<> SafetensorsHeader::finish(const std::function<Result<>(std::string_view)>& put) {
  text_.append(count_ == 0 ? "{}" : "}");
  text_.append(std::string((kAlignment - text_.size() % kAlignment) % kAlignment, ' '));
  const std::uint64_t length = text_.size();
  if (length > kMaxHeader)
    return Error(Code::limit, "the names and shapes of " + counted(count_, "tensor") + " take " +
                                  std::to_string(length) + " bytes; .safetensors has room for " +
                                  std::to_string(kMaxHeader));
  std::string piece;
  for (std::size_t i = 0; i < kLengthBytes; ++i) piece.push_back(static_cast<char>(length >> 8 * i & 0xFF));
  OPDUMP_CHECK_OK(put(piece));
  return put(text_);
}

bool is_safetensors(std::span<const std::byte> start) {
  return start.size() > kLengthBytes && header_length(start) <= kMaxHeader &&
         start[kLengthBytes] == std::byte{'{'};
}

Result<> decode_safetensors(std::span<const std::byte> file, const TakeSafetensors& take) {
  if (file.size() < kLengthBytes) return Error(Code::corrupt, "too short for the length of a header");
  const std::uint64_t length = header_length(file), behind = file.size() - kLengthBytes;
  if (length > behind)
    return Error(Code::corrupt, "torn file: a header of " + std::to_string(length) + " bytes announced, " +
                                    std::to_string(behind) + " in file");
  if (length > kMaxHeader)
    return Error(Code::limit, "a header of " + std::to_string(length) + " bytes; expected up to 100 MB");
  const std::string_view text(reinterpret_cast<const char*>(file.data() + kLengthBytes), length);
  if (!text.starts_with('{') || !Json::accept(text))
    return Error(Code::corrupt, "the header is not a JSON object");
  SafetensorsHeaderReader reader(kLengthBytes + length, behind - length, take);
  if (!Json::sax_parse(text, &reader)) return Error(Code::corrupt, "the header is not a JSON object");
  return ok();
}

}  // namespace opdump::format
