#include "format/tensors/torch/torch_file.h"

#include <cstring>
#include <string_view>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::format {
namespace {

using model::DType;

constexpr std::size_t kAlignment = 64;

struct Storage {
  DType from, dtype;
  std::string_view name;
};
constexpr Storage kStorages[] = {
    {DType::boolean, DType::boolean, "BoolStorage"},
    {DType::int8, DType::int8, "CharStorage"},
    {DType::int16, DType::int16, "ShortStorage"},
    {DType::int32, DType::int32, "IntStorage"},
    {DType::int64, DType::int64, "LongStorage"},
    {DType::uint8, DType::uint8, "ByteStorage"},
    {DType::uint16, DType::int32, "IntStorage"},
    {DType::uint32, DType::int64, "LongStorage"},
    {DType::float16, DType::float16, "HalfStorage"},
    {DType::bfloat16, DType::bfloat16, "BFloat16Storage"},
    {DType::float32, DType::float32, "FloatStorage"},
    {DType::float64, DType::float64, "DoubleStorage"},
    {DType::complex64, DType::complex64, "ComplexFloatStorage"},
    {DType::complex128, DType::complex128, "ComplexDoubleStorage"},
};

// Pickle, protocol 2: the few opcodes that a tensor needs.
class PickleWriter {
 public:
  PickleWriter() { text_ = "\x80\x02"; }
  PickleWriter& op(std::string_view code) {
    text_ += code;
    return *this;
  }
  PickleWriter& global(std::string_view module, std::string_view name) {
    text_.append("c").append(module).append("\n").append(name).append("\n");
    return *this;
  }
  PickleWriter& word(std::string_view text) {
    text_ += 'X';
    little_endian(text.size(), 4);
    text_ += text;
    return *this;
  }
  PickleWriter& number(std::int64_t value) {
    if (value >= 0 && value < 256) {
      text_.append("K").push_back(static_cast<char>(value));
      return *this;
    }
    text_.append("\x8a\x08");
    little_endian(static_cast<std::uint64_t>(value), 8);
    return *this;
  }
  PickleWriter& tuple(const model::Shape& numbers) {
    op("(");
    for (const std::int64_t value : numbers.dims()) number(value);
    return op("t");
  }
  const std::string& text() const { return text_; }

 private:
  void little_endian(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_.push_back(static_cast<char>(value >> 8 * i & 0xFF));
  }
  std::string text_;
};

// torch._utils._rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())
std::string pickle_of(const Storage& storage, const model::Shape& shape, std::uint64_t count) {
  PickleWriter pickle;
  pickle.global("torch._utils", "_rebuild_tensor_v2").op("((");
  pickle.word("storage").global("torch", storage.name).word("0").word("cpu");
  pickle.number(static_cast<std::int64_t>(count)).op("tQ");
  pickle.number(0).tuple(shape).tuple(model::row_major_strides(shape));
  pickle.op("\x89").global("collections", "OrderedDict").op(")R").op("tR.");
  return pickle.text();
}

template <typename From, typename To>
std::vector<std::byte> widened(std::span<const std::byte> in) {
  std::vector<std::byte> out(in.size() / sizeof(From) * sizeof(To));
  for (std::size_t i = 0; i < in.size() / sizeof(From); ++i) {
    From from;
    std::memcpy(&from, in.data() + i * sizeof from, sizeof from);
    const To to = from;
    std::memcpy(out.data() + i * sizeof to, &to, sizeof to);
  }
  return out;
}

Result<> add_text(ZipWriter& zip, std::string_view name, std::string_view text) {
  OPDUMP_CHECK_OK(zip.begin(name, text.size(), kAlignment));
  OPDUMP_CHECK_OK(zip.add(std::as_bytes(std::span(text))));
  return zip.end();
}

}  // namespace

Result<TorchTensor> describe_torch_tensor(DType dtype, const model::Shape& shape) {
  const auto count = model::element_count(shape);
  if (!count) return Error(Code::limit, "shape " + model::format_shape(shape));
  for (const Storage& storage : kStorages)
    if (storage.from == dtype)
      return TorchTensor{dtype, storage.dtype, pickle_of(storage, shape, *count),
                         *count * (model::dtype_info(storage.dtype).bits / 8)};
  return Error(Code::unsupported, "PyTorch has no type for " + std::string(model::dtype_info(dtype).name));
}

Result<> TorchFileWriter::begin(const TorchTensor& tensor) {
  from_ = tensor.from;
  dtype_ = tensor.dtype;
  OPDUMP_CHECK_OK(add_text(zip_, "archive/data.pkl", tensor.pickle));
  return zip_.begin("archive/data/0", tensor.bytes, kAlignment);
}

Result<> TorchFileWriter::add(std::span<const std::byte> elements) {
  if (from_ == dtype_) return zip_.add(elements);
  if (from_ == DType::uint16) return zip_.add(widened<std::uint16_t, std::int32_t>(elements));
  return zip_.add(widened<std::uint32_t, std::int64_t>(elements));
}

Result<> TorchFileWriter::end() {
  OPDUMP_CHECK_OK(zip_.end());
  OPDUMP_CHECK_OK(add_text(zip_, "archive/version", "3\n"));
  return zip_.finish();
}

}  // namespace opdump::format
