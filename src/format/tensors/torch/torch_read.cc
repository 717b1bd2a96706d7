#include "format/tensors/torch/torch_read.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "format/tensors/npz.h"
#include "format/tensors/torch/pickle.h"

namespace opdump::format {
namespace {

using model::DType;
using Kind = PickleValue::Kind;

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxVisits = 1 << 20;
constexpr std::size_t kMaxName = 4096;
// Of a tensor that has elements several times, which a small file can hold any number of.
constexpr std::uint64_t kMaxRepeatedBytes = std::uint64_t{4} << 30;
constexpr std::string_view kPickleEnd = "/data.pkl";
// The name of the first member in the header of a ZIP archive (APPNOTE 4.3.7).
constexpr std::size_t kNameSizeAt = 26, kNameAt = 30;

struct TypeName {
  std::string_view name;
  DType dtype;
};
// Of typed storages, and of the dtypes that untyped ones are read with.
constexpr TypeName kTypes[] = {{"torch BoolStorage", DType::boolean},
                               {"torch CharStorage", DType::int8},
                               {"torch ShortStorage", DType::int16},
                               {"torch IntStorage", DType::int32},
                               {"torch LongStorage", DType::int64},
                               {"torch ByteStorage", DType::uint8},
                               {"torch HalfStorage", DType::float16},
                               {"torch BFloat16Storage", DType::bfloat16},
                               {"torch FloatStorage", DType::float32},
                               {"torch DoubleStorage", DType::float64},
                               {"torch ComplexFloatStorage", DType::complex64},
                               {"torch ComplexDoubleStorage", DType::complex128},
                               {"torch uint16", DType::uint16},
                               {"torch uint32", DType::uint32},
                               {"torch uint64", DType::uint64},
                               {"torch float8_e4m3fn", DType::float8_e4m3},
                               {"torch float8_e5m2", DType::float8_e5m2},
                               {"torch float8_e8m0fnu", DType::float8_e8m0}};

DType find_type(std::string_view name) {
  for (const TypeName& type : kTypes)
    if (type.name == name) return type.dtype;
  return DType::undefined;
}

struct Members {
  std::unordered_map<std::string, NpzMember> data;  // by key
  NpzMember pickle;                                 // without a name if there is none
  bool is_big_endian = false;
};

Result<Members> find_members(std::span<const std::byte> file) {
  Members members;
  OPDUMP_CHECK_OK(list_zip(file, "", [&](const NpzMember& member) {
    const std::string_view name = member.name;
    const std::string_view inner = name.substr(std::min(name.find('/'), name.size()));
    if (inner == kPickleEnd) members.pickle = member;
    if (inner.starts_with("/data/")) members.data.emplace(inner.substr(6), member);
    if (inner == "/byteorder" && !member.is_deflated)
      members.is_big_endian = std::memcmp(file.data() + member.stored.offset, "big",
                                          std::min<std::size_t>(member.bytes, 3)) == 0 &&
                              member.bytes == 3;
  }));
  if (members.pickle.name.empty())
    return Error(Code::corrupt, "archive: no data.pkl in it, so torch.save did not make it");
  if (members.is_big_endian) return Error(Code::unsupported, "its elements are big-endian");
  return members;
}

bool is_row_major(const model::Shape& shape, const model::Shape& strides) {
  const model::Shape expected = model::row_major_strides(shape);
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (shape[i] > 1 && strides[i] != expected[i]) return false;
  return true;
}

// How many elements lie between the first and the last one, both included. Nothing if it is too many to
// count, or if a stride is negative, which torch does not have. The shape has elements.
std::optional<std::uint64_t> span_of(const model::Shape& shape, const model::Shape& strides) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    std::int64_t step = 0;
    if (strides[i] < 0 || __builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  return static_cast<std::uint64_t>(last) + 1;
}

// Walks over the values of a pickle and names the tensors among them.
class TensorWalk {
 public:
  TensorWalk(const Pickle& pickle, const Members& members, const TakeTorchTensor& take)
      : pickle_(pickle), members_(members), take_(take) {}

  Result<> run() { return walk(pickle_.root, "", 0); }

 private:
  const PickleValue& value(std::uint32_t number) const { return pickle_.values[number]; }

  Result<> walk(std::uint32_t number, const std::string& name, std::size_t depth) {
    if (depth > kMaxDepth) return Error(Code::limit, "nested deeper than 64 levels");
    if (name.size() > kMaxName) return Error(Code::limit, "a name of more than 4096 characters");
    if (++visits_ > kMaxVisits) return Error(Code::limit, "more than a million values");
    const PickleValue& of = value(number);
    const std::string begin = name.empty() ? "" : name + ".";
    if (of.kind == Kind::call) return walk_call(of, name, depth);
    if (of.kind == Kind::list)
      for (std::size_t i = 0; i < of.items.size(); ++i)
        OPDUMP_CHECK_OK(walk(of.items[i], begin + std::to_string(i), depth + 1));
    if (of.kind == Kind::dict)
      for (std::size_t i = 0; i + 1 < of.items.size(); i += 2) {
        const PickleValue& key = value(of.items[i]);
        if (key.kind != Kind::text && key.kind != Kind::number) continue;
        OPDUMP_CHECK_OK(walk(of.items[i + 1],
                             begin + (key.kind == Kind::text ? key.text : std::to_string(key.number)),
                             depth + 1));
      }
    return ok();
  }

  // What torch's own functions would make of their arguments; objects of other classes are no tensors.
  Result<> walk_call(const PickleValue& call, const std::string& name, std::size_t depth) {
    const std::string_view function = value(call.items[0]).text;
    const PickleValue& arguments = value(call.items[1]);
    if (function == "torch._tensor _rebuild_from_type_v2" && arguments.items.size() >= 3) {
      PickleValue inner;
      inner.items = {arguments.items[0], arguments.items[2]};
      return depth > kMaxDepth ? Result<>(Error(Code::limit, "nested deeper than 64 levels"))
                               : walk_call(inner, name, depth + 1);
    }
    if (function.starts_with("torch._utils _rebuild_parameter") && !arguments.items.empty())
      return walk(arguments.items[0], name, depth + 1);
    if (!function.starts_with("torch._utils _rebuild_")) return ok();
    StoredTorchTensor tensor;
    tensor.name = name;
    const bool is_plain =
        function.ends_with("_rebuild_tensor_v2") || function.ends_with("_rebuild_tensor_v3");
    tensor.fault = is_plain ? place(arguments, tensor)
                            : "not a plain tensor: " + std::string(function.substr(function.find(' ') + 1));
    take_(std::move(tensor));
    return ok();
  }

  std::optional<model::Shape> numbers(std::uint32_t list) const {
    const PickleValue& of = value(list);
    if (of.kind != Kind::list) return std::nullopt;
    std::vector<std::int64_t> all;
    for (const std::uint32_t item : of.items) {
      if (value(item).kind != Kind::number) return std::nullopt;
      all.push_back(value(item).number);
    }
    return model::Shape(std::span<const std::int64_t>(all));
  }

  // storage, offset, shape, strides, requires_grad, hooks[, dtype, metadata]. Returns what is wrong.
  std::string place(const PickleValue& arguments, StoredTorchTensor& tensor) const {
    const auto& items = arguments.items;
    if (items.size() < 4 || value(items[0]).kind != Kind::persistent || value(items[1]).kind != Kind::number)
      return "not as torch.save describes a tensor";
    const auto shape = numbers(items[2]), strides = numbers(items[3]);
    const PickleValue& storage = value(value(items[0]).items[0]);  // "storage", type, key, device, elements
    if (!shape || !strides || strides->rank() != shape->rank() || storage.items.size() < 3)
      return "not as torch.save describes a tensor";
    const PickleValue &type = value(storage.items[1]), &key = value(storage.items[2]);
    tensor.shape = *shape;
    tensor.dtype = find_type(items.size() > 6 ? value(items[6]).text : type.text);
    if (tensor.dtype == DType::undefined)
      return "elements of an unknown dtype, " + (items.size() > 6 ? value(items[6]).text : type.text);
    return place_data(key.text, value(items[1]).number, *strides, tensor);
  }

  std::string place_data(const std::string& key, std::int64_t first, const model::Shape& strides,
                         StoredTorchTensor& tensor) const {
    const auto count = model::element_count(tensor.shape);
    if (!count || first < 0) return "a size that no tensor has";
    if (*count == 0) return {};
    const auto span = span_of(tensor.shape, strides);
    if (!span) return "a size that no tensor has";
    const auto member = members_.data.find(key);
    if (member == members_.data.end()) return "the archive has no member data/" + key;
    if (member->second.is_deflated)
      return "its elements are compressed, which torch.load does not read either";
    const Extent stored = member->second.stored;
    const std::uint64_t size = model::dtype_info(tensor.dtype).bits / 8;
    const std::uint64_t elements = stored.bytes / size, offset = static_cast<std::uint64_t>(first);
    if (offset > elements || *span > elements - offset)
      return "torn file: " + std::to_string(elements) + " elements in data/" + key + ", and it has " +
             std::to_string(*span) + " from element " + std::to_string(offset) + " on";
    if (*count > *span && *count > kMaxRepeatedBytes / size)
      return "it repeats its elements to more than 4 GiB";
    tensor.data = {stored.offset + offset * size, *span * size};
    if (!is_row_major(tensor.shape, strides)) tensor.strides = strides;
    return {};
  }

  const Pickle& pickle_;
  const Members& members_;
  const TakeTorchTensor& take_;
  std::size_t visits_ = 0;
};

}  // namespace

bool is_torch_file(std::span<const std::byte> start) {
  if (!is_npz(start) || start.size() < kNameAt) return false;
  const std::size_t size = std::to_integer<std::size_t>(start[kNameSizeAt]) |
                           std::to_integer<std::size_t>(start[kNameSizeAt + 1]) << 8;
  const auto name = start.subspan(kNameAt, std::min(size, start.size() - kNameAt));
  return std::string_view(reinterpret_cast<const char*>(name.data()), name.size()).ends_with(kPickleEnd);
}

Result<> list_torch_tensors(std::span<const std::byte> file, const TakeTorchTensor& take) {
  constexpr std::string_view kOldStart = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  if (file.size() >= kOldStart.size() && std::memcmp(file.data(), kOldStart.data(), kOldStart.size()) == 0)
    return Error(Code::unsupported, "the format of PyTorch before 1.6; load it and save it again");
  OPDUMP_TRY(const Members members, find_members(file));
  if (members.pickle.is_deflated) return Error(Code::unsupported, "archive: data.pkl is compressed");
  OPDUMP_TRY(const Pickle pickle,
             decode_pickle(file.subspan(members.pickle.stored.offset, members.pickle.stored.bytes)));
  return TensorWalk(pickle, members, take).run();
}

}  // namespace opdump::format
