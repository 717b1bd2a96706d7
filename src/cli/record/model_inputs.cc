#include "cli/record/model_inputs.h"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "base/text/text.h"
#include "format/tensors/npy.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

// splitmix64: every seed gives another sequence, the same on every machine.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

template <typename T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void store_random(model::DType dtype, std::byte* to, std::uint64_t bits) {
  using model::DType;
  switch (dtype) {
    case DType::float32:
      return store(to, static_cast<float>(bits >> 40) * 0x1p-24F);
    case DType::float64:
      return store(to, static_cast<double>(bits >> 11) * 0x1p-53);
    case DType::float16:  // the exponent of [0.5, 1), any mantissa
      return store(to, static_cast<std::uint16_t>(0x3800 | (bits >> 54)));
    case DType::bfloat16:
      return store(to, static_cast<std::uint16_t>(0x3F00 | (bits >> 57)));
    default:  // an integer; little endian, the other bytes are 0
      return store(to, static_cast<std::uint8_t>(bits >> 63));
  }
}

std::string spell(const std::vector<std::int64_t>& dims) {
  std::string text;
  for (const std::int64_t dim : dims)
    text += (text.empty() ? "" : ",") + (dim < 0 ? "?" : std::to_string(dim));
  return "(" + text + ")";
}

bool fits(const model::Shape& shape, const InputSlot& slot) {
  if (!slot.has_shape) return true;
  const auto dims = shape.dims();
  return std::ranges::equal(dims, slot.dims,
                            [](std::int64_t has, std::int64_t wants) { return wants < 0 || has == wants; });
}

Result<InputValue> read_value(const fs::path& path, const InputSlot& slot) {
  OPDUMP_TRY(MappedFile file, MappedFile::open(path));
  auto header = format::decode_npy_header(file.bytes());
  if (!header) return header.take_error().within(path.string());
  const std::string what = "input " + slot.name + ": " + path.string();
  if (header->fortran_order && header->shape.rank() > 1)
    return Error(Code::usage, what + " is in Fortran order; save it with numpy.ascontiguousarray");
  if (header->dtype != slot.dtype)
    return Error(Code::usage, what + " is " + std::string(model::dtype_info(header->dtype).name) +
                                  "; the model expects " + std::string(model::dtype_info(slot.dtype).name));
  if (!fits(header->shape, slot)) {
    const auto dims = header->shape.dims();
    return Error(Code::usage, what + " has the shape " + spell({dims.begin(), dims.end()}) +
                                  "; the model expects " + spell(slot.dims));
  }
  InputValue value{header->shape, file.bytes().subspan(header->data_offset, header->data_bytes()), {}, {}};
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(value.bytes.data()) % 16 == 0;
  if (is_aligned) {
    value.file = std::move(file);
  } else {  // files of other writers
    value.memory.assign(value.bytes.begin(), value.bytes.end());
    value.bytes = value.memory;
  }
  return value;
}

// FNV-1a: inputs of one model get different numbers.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace

Result<std::vector<std::byte>> random_elements(model::DType dtype, std::uint64_t count, std::uint64_t seed) {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  const bool is_small_float = info.kind == model::DTypeKind::floating && info.bits < 16;
  if (info.bits < 8 || is_small_float || info.kind == model::DTypeKind::complex)
    return Error(Code::unsupported, "cannot generate random values for " + std::string(info.name));
  const std::size_t size = info.bits / 8;
  if (count > (std::uint64_t{4} << 30) / size)  // a model can say anything
    return Error(Code::limit, "an input of more than 4 GiB must come from a file");
  std::vector<std::byte> bytes(count * size);
  Sequence sequence(seed);
  for (std::uint64_t i = 0; i < count; ++i) store_random(dtype, bytes.data() + i * size, sequence.next());
  return bytes;
}

Result<InputSource> InputSource::make(const std::vector<std::string>& pairs, const std::string& folder,
                                      std::optional<std::uint64_t> seed) {
  InputSource source;
  source.seed_ = seed;
  for (const std::string& pair : pairs) OPDUMP_CHECK_OK(source.add_pair(pair));
  if (!folder.empty()) OPDUMP_CHECK_OK(source.add_folder(folder));
  return source;
}

Result<> InputSource::add_pair(const std::string& pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size())
    return Error(Code::usage, "--input " + pair + ": expected NAME=FILE.npy");
  files_[pair.substr(0, equals)].emplace_back(pair.substr(equals + 1));
  return ok();
}

Result<> InputSource::add_folder(const fs::path& folder) {
  std::map<std::uint64_t, fs::path> executions;
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (const auto number = parse_uint64(name); number && entry.is_directory(error))
      executions[*number] = entry.path();
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  }
  if (error) return Error(Code::not_found, folder.string() + ": " + error.message());
  for (const fs::path& file : files) files_[file.stem().string()] = {file};
  for (const auto& [number, path] : executions)
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".npy") files_[entry.path().stem().string()].push_back(entry.path());
  if (files_.empty())
    return Error(Code::not_found, folder.string() + ": contains neither NAME.npy nor 0/NAME.npy");
  return ok();
}

std::size_t InputSource::execution_count() const {
  std::size_t count = 1;
  for (const auto& [name, files] : files_) count = std::max(count, files.size());
  return count;
}

std::vector<std::string> InputSource::names() const {
  std::vector<std::string> names;
  for (const auto& [name, files] : files_) names.push_back(name);
  return names;
}

Result<InputValue> InputSource::value(const InputSlot& slot, std::size_t execution) const {
  if (const auto found = files_.find(slot.name); found != files_.end()) {
    const auto& files = found->second;
    if (files.size() > 1 && execution >= files.size())
      return Error(Code::usage, "input " + slot.name + " has " + std::to_string(files.size()) +
                                    " files; there is none for execution " + std::to_string(execution));
    return read_value(files[files.size() == 1 ? 0 : execution], slot);
  }
  if (!seed_)
    return Error(Code::usage, "input " + slot.name + " has no value: pass --input " + slot.name +
                                  "=FILE.npy, --input-dir or --random");
  std::vector<std::int64_t> dims = slot.dims;
  for (std::int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
  InputValue value{model::Shape(std::span<const std::int64_t>(dims)), {}, {}, {}};
  const auto count = model::element_count(value.shape);
  if (!count) return Error(Code::limit, "input " + slot.name + ": its shape is too large");
  const std::uint64_t seed = *seed_ * 1000003 + execution + hash_of(slot.name);
  auto elements = random_elements(slot.dtype, *count, seed);
  if (!elements) return elements.take_error().within("input " + slot.name);
  value.memory = std::move(*elements);
  value.bytes = value.memory;
  return value;
}

}  // namespace opdump::cli
