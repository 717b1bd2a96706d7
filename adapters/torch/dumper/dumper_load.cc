#include "dumper/dumper_load.h"

#include <ATen/ATen.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

namespace opdump::torch_adapter {
namespace {

// Other names of the same operator, and what may differ between them (D.7). The second half of the list is
// ours: convolutions and batch normalisation as this version of PyTorch calls them.
const std::vector<std::string>& aliases_of(const std::string& name) {
  static const auto* aliases = new std::unordered_map<std::string, std::vector<std::string>>{
      {"NpuConvolutionBackward", {"CudnnConvolutionBackward", "ThnnConvDepthwise2DBackward"}},
      {"CudnnConvolutionBackward", {"NpuConvolutionBackward"}},
      {"NativeBatchNormBackward", {"CudnnBatchNormBackward"}},
      {"CudnnBatchNormBackward", {"NativeBatchNormBackward"}},
      {"ConvolutionBackward",
       {"NpuConvolutionBackward", "CudnnConvolutionBackward", "ThnnConvDepthwise2DBackward"}}};
  static const auto* none = new std::vector<std::string>;
  const auto found = aliases->find(name);
  return found == aliases->end() ? *none : found->second;
}

bool contains(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

// The name of a parameter that is the same in all of them; empty: it is not looked at.
std::string parameter_name(std::string_view op, const std::string& name) {
  if (contains(op, "Conv") && contains(op, "Backward")) {
    for (const char* ignored :
         {"benchmark", "deterministic", "transposed", "output_padding", "bias_sizes_opt"})
      if (name == ignored) return {};
    if (name == "self") return "input";
    // One of the two has the size of the kernel, which the weight has too, the other the number of groups.
    if (contains(op, "Depthwise") && (name == "kernel_size" || name == "groups")) return {};
  }
  if (contains(op, "BatchNormBackward")) {
    if (name == "result3") return {};
    if (name == "epsilon") return "eps";
  }
  return name;
}

// One input, as it is in the text that identifies records. Nothing for a dtype that files have no number for:
// the dataset says only that there was a tensor.
std::string describe_tensor(std::int64_t data_type, at::IntArrayRef shape) {
  if (data_type < 0) return {};
  if (data_type == OPDUMP_H5_INT32) data_type = OPDUMP_H5_INT64;
  std::string text = "T" + std::to_string(data_type);
  for (const std::int64_t size : shape) text += "x" + std::to_string(size);
  return text;
}

template <typename T>
std::string describe_bytes(char kind, const T* data, std::size_t count) {
  std::string text(1, kind);
  text.append(reinterpret_cast<const char*>(data), count * sizeof(T));
  return text;
}

std::string describe_floating(double number) {
  number += 0.0;  // -0 is 0
  return describe_bytes('D', &number, 1);
}

std::string describe(const NamedValue& input) {
  const c10::IValue& v = input.value;
  switch (input.type) {
    case ValueType::tensor: {
      const at::Tensor& tensor = v.toTensor();
      if (!has_elements(tensor)) return {};  // and no dataset either
      return describe_tensor(data_type_of(tensor.scalar_type(), {}), tensor.sizes());
    }
    case ValueType::scalar:
    case ValueType::optional_scalar:
      return v.isInt() ? "Si" : v.isDouble() ? "Sd" : "Sb";
    case ValueType::boolean:
      return v.toBool() ? "B1" : "B0";
    case ValueType::integer:
    case ValueType::optional_integer:
      return "I" + std::to_string(v.toInt());
    case ValueType::floating:
    case ValueType::optional_floating:
      return describe_floating(v.toDouble());
    case ValueType::int_vector:
    case ValueType::int_array: {
      const auto list = v.toIntVector();
      return describe_bytes('L', list.data(), list.size());
    }
    default:
      return {};
  }
}

std::optional<std::int64_t> find_number(const opdump_h5_dataset& dataset, std::string_view name) {
  for (std::uint32_t i = 0; i < dataset.attribute_count; ++i)
    if (name == dataset.attributes[i].name && !dataset.attributes[i].is_list)
      return dataset.attributes[i].values[0];
  return std::nullopt;
}

bool is_complex(std::int64_t data_type) {
  return data_type == OPDUMP_H5_COMPLEX64 || data_type == OPDUMP_H5_COMPLEX128;
}

// The shape of the tensor, which is that of the dataset unless the elements are pairs.
at::IntArrayRef shape_of(const opdump_h5_dataset& dataset, std::int64_t data_type) {
  const at::IntArrayRef shape(dataset.shape, dataset.rank);
  return is_complex(data_type) && !shape.empty() && shape.back() == 2 ? shape.slice(0, shape.size() - 1)
                                                                      : shape;
}

// The same of an input in the file; nothing if it is of no type that is looked at.
std::string describe(const opdump_h5_dataset& dataset) {
  const auto type = static_cast<ValueType>(find_number(dataset, "Type").value_or(-1));
  const auto integer = [&] { return *static_cast<const std::int64_t*>(dataset.data); };
  switch (type) {
    case ValueType::tensor: {
      const std::int64_t data_type = find_number(dataset, "DataType").value_or(-1);
      return describe_tensor(data_type, shape_of(dataset, data_type));
    }
    case ValueType::scalar:
    case ValueType::optional_scalar:
      return dataset.dtype == OPDUMP_INT64 ? "Si" : dataset.dtype == OPDUMP_FLOAT64 ? "Sd" : "Sb";
    case ValueType::boolean:
      if (dataset.dtype != OPDUMP_INT8 || dataset.rank != 0 || !dataset.data) return {};
      return *static_cast<const std::int8_t*>(dataset.data) != 0 ? "B1" : "B0";
    case ValueType::integer:
    case ValueType::optional_integer:
      return dataset.dtype == OPDUMP_INT64 && dataset.rank == 0 && dataset.data
                 ? "I" + std::to_string(integer())
                 : "";
    case ValueType::floating:
    case ValueType::optional_floating:
      if (dataset.dtype != OPDUMP_FLOAT64 || dataset.rank != 0 || !dataset.data) return {};
      return describe_floating(*static_cast<const double*>(dataset.data));
    case ValueType::int_vector:
    case ValueType::int_array:
      if (dataset.dtype != OPDUMP_INT64 || dataset.rank != 1) return {};
      return describe_bytes('L', static_cast<const std::int64_t*>(dataset.data),
                            dataset.data ? static_cast<std::size_t>(dataset.shape[0]) : 0);
    default:
      return {};
  }
}

// "/add_Tensor/1/input/tensors/tensors_0" in its parts.
struct DatasetPath {
  std::string_view name, side, argument;
  std::int64_t id = 0;
};

std::optional<DatasetPath> parse_dataset_path(std::string_view path) {
  std::array<std::string_view, 3> parts;
  path.remove_prefix(1);
  for (std::string_view& part : parts) {
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    part = path.substr(0, slash);
    path.remove_prefix(slash + 1);
  }
  DatasetPath parsed{parts[0], parts[2], path};
  const auto [end, failed] = std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), parsed.id);
  if (failed != std::errc() || end != parts[1].data() + parts[1].size()) return std::nullopt;
  return parsed;
}

// The text of all inputs together; in the order of their names, because files are read in that order.
std::string join(const std::string& op, const std::map<std::string, std::string>& inputs) {
  std::string text = op;
  for (const auto& [name, description] : inputs) text += '\n' + name + '=' + description;
  return text;
}

at::ScalarType element_type(const opdump_h5_dataset& dataset, at::ScalarType wanted) {
  switch (dataset.dtype) {
    case OPDUMP_INT8:
    case OPDUMP_UINT8:  // the original stores unsigned numbers as signed ones
      return wanted == at::kByte ? at::kByte : at::kChar;
    case OPDUMP_INT16:
      return at::kShort;
    case OPDUMP_INT32:
      return at::kInt;
    case OPDUMP_INT64:
      return at::kLong;
    case OPDUMP_FLOAT32:
      return at::kFloat;
    case OPDUMP_FLOAT64:
      return at::kDouble;
    default:
      return at::ScalarType::Undefined;
  }
}

constexpr std::uintptr_t kAlignment =
    16;  // what kernels take for granted, and a dataset in a file need not have

at::Tensor copy_aligned(const at::Tensor& source, const void* data) {
  at::Tensor copy = at::empty(source.sizes(), source.options());
  std::memcpy(copy.data_ptr(), data, source.nbytes());
  return copy;
}

// Broadcast dimensions have one element in memory, whatever their size: it gets the first one of the source.
void copy_into(at::Tensor target, at::Tensor source) {
  for (std::int64_t axis = 0; axis < target.dim(); ++axis)
    if (target.stride(axis) == 0 && target.size(axis) > 1) {
      target = target.narrow(axis, 0, 1);
      source = source.narrow(axis, 0, 1);
    }
  target.copy_(source);
}

}  // namespace

std::unique_ptr<LoadFile> LoadFile::open(const std::string& path) {
  opdump_h5* file = nullptr;
  if (opdump_h5_open(path.c_str(), &file) != OPDUMP_OK) return nullptr;
  auto opened = std::make_unique<LoadFile>();
  opened->file_.reset(file);
  opened->add_records();
  return opened;
}

void LoadFile::add_records() {
  struct Found {
    std::map<std::string, std::string> inputs;
    Record record;
  };
  std::map<std::pair<std::string, std::int64_t>, Found> found;  // by operator, and in order of the numbers
  opdump_h5_dataset dataset{};
  dataset.size = sizeof dataset;
  for (std::size_t index = 0;; ++index) {
    const opdump_status status = opdump_h5_at(file_.get(), index, &dataset);
    if (status == OPDUMP_ERROR_ARGUMENT) break;
    const auto parsed = status == OPDUMP_OK ? parse_dataset_path(dataset.path) : std::nullopt;
    if (!parsed || parsed->side != "input") continue;
    const std::string op(parsed->name);
    const std::string parameter = parameter_name(op, std::string(parsed->argument));
    Found& f = found[{op, parsed->id}];
    f.record.id = parsed->id;
    const std::string text = parameter.empty() ? "" : describe(dataset);
    if (text.empty()) continue;
    f.inputs[parameter] = text;
    if (text[0] == 'T') f.record.tensors[parameter] = index;
  }
  for (auto& [key, f] : found) {
    names_.insert(key.first);
    records_[join(key.first, f.inputs)].push_back(std::move(f.record));
  }
}

void LoadFile::overwrite(const at::Tensor& tensor, std::size_t index) {
  opdump_h5_dataset dataset{};
  dataset.size = sizeof dataset;
  if (opdump_h5_at(file_.get(), index, &dataset) != OPDUMP_OK || !dataset.data) return;
  if (!tensor.unsafeGetTensorImpl()->has_storage() || tensor._is_zerotensor())
    return;  // no memory to write to
  const at::ScalarType type = element_type(dataset, tensor.scalar_type());
  if (type == at::ScalarType::Undefined) return;
  at::Tensor source =
      at::from_blob(const_cast<void*>(dataset.data), at::IntArrayRef(dataset.shape, dataset.rank), type);
  if (reinterpret_cast<std::uintptr_t>(dataset.data) % kAlignment != 0)
    source = copy_aligned(source, dataset.data);
  if (tensor.is_complex()) source = at::view_as_complex(source);
  copy_into(tensor.variable_data(), source);  // which counts no new version of the tensor
}

std::optional<LoadFile::Record> LoadFile::take(const std::string& op, const NamedValues& inputs) {
  std::map<std::string, std::string> texts;
  for (const NamedValue& input : inputs)
    if (const std::string parameter = parameter_name(op, input.name); !parameter.empty())
      if (std::string text = describe(input); !text.empty()) texts[parameter] = std::move(text);
  const auto found = records_.find(join(op, texts));
  if (found == records_.end() || found->second.empty()) return std::nullopt;
  Record record = std::move(found->second.front());
  found->second.pop_front();
  return record;
}

std::int64_t LoadFile::load(const std::string& name, const NamedValues& inputs) {
  const std::string* op = &name;
  std::optional<Record> record;
  if (names_.contains(name)) {
    record = take(name, inputs);
  } else {
    for (const std::string& alias : aliases_of(name))
      if (op = &alias; names_.contains(alias) && (record = take(alias, inputs))) break;
  }
  if (!record) return -1;
  for (const NamedValue& input : inputs)
    if (input.type == ValueType::tensor)
      if (const auto at = record->tensors.find(parameter_name(*op, input.name)); at != record->tensors.end())
        overwrite(input.value.toTensor(), at->second);
  return record->id;
}

}  // namespace opdump::torch_adapter
