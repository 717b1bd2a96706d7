#include "dumper/dumper_values.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstring>
#include <optional>

#include "torch_version.h"

#if !OPDUMP_TORCH_AT_LEAST(2, 13)
#include <ATen/core/NamedTensor.h>
#endif

namespace opdump::torch_adapter {
namespace {

// Numbers and shape of one dataset, pointing into what it is made of.
struct Dataset {
  std::uint32_t dtype = OPDUMP_FLOAT32;
  at::IntArrayRef shape;
  const void* data = nullptr;
  std::vector<opdump_h5_attribute> attributes;

  // `value` must outlive the dataset.
  void add(const char* name, const std::int64_t& value) { attributes.push_back({name, 0, 1, &value}); }
};

opdump_status write(opdump_h5* file, const std::string& path, const Dataset& dataset) {
  opdump_h5_dataset d{};
  d.size = sizeof d;
  d.dtype = dataset.dtype;
  d.path = path.c_str();
  d.rank = static_cast<std::uint32_t>(dataset.shape.size());
  d.shape = dataset.shape.data();
  d.data = dataset.data;
  d.attributes = dataset.attributes.data();
  d.attribute_count = static_cast<std::uint32_t>(dataset.attributes.size());
  return opdump_h5_write(file, &d);
}

constexpr std::int64_t kTensor = 0;
constexpr std::int64_t kFormat = 0;  // NCHW

// Elements that files have, and how they call them.
struct Stored {
  at::Tensor tensor;  // undefined: nothing is written
  std::uint32_t dtype = OPDUMP_FLOAT32;
};

// The original hands the memory of a half tensor on the CPU to HDF5 as floats: two halves are one number, and
// what lies behind the tensor follows. We have zeros there.
at::Tensor misread_half(const at::Tensor& tensor) {
  at::Tensor misread = at::zeros(tensor.sizes(), tensor.options().dtype(at::kFloat));
  if (tensor.numel() > 0) std::memcpy(misread.data_ptr(), tensor.data_ptr(), tensor.nbytes());
  return misread;
}

Stored store(const at::Tensor& tensor, const FileStyle& style) {
  const at::Tensor host = elements_of(tensor);
  if (!host.defined()) return {};
  switch (host.scalar_type()) {
    case at::kByte:
      return {host, static_cast<std::uint32_t>(style.bug_compatible ? OPDUMP_INT8 : OPDUMP_UINT8)};
    case at::kChar:
    case at::kBool:
      return {host, OPDUMP_INT8};
    case at::kShort:
      return {host, OPDUMP_INT16};
    case at::kInt:
      return {host, OPDUMP_INT32};
    case at::kLong:
      return {host, OPDUMP_INT64};
    case at::kDouble:
      return {host, OPDUMP_FLOAT64};
    case at::kHalf:
      if (style.bug_compatible && tensor.device().is_cpu()) return {misread_half(host), OPDUMP_FLOAT32};
      return {host.to(at::kFloat), OPDUMP_FLOAT32};
    case at::kFloat:
    case at::kBFloat16:
      return {host.to(at::kFloat), OPDUMP_FLOAT32};
    case at::kComplexFloat:
      return {at::view_as_real(host), OPDUMP_FLOAT32};
    case at::kComplexDouble:
      return {at::view_as_real(host), OPDUMP_FLOAT64};
    default:
      return {};
  }
}

opdump_status write_tensor(opdump_h5* file, const std::string& path, const NamedValue& value,
                           const FileStyle& style) {
  const at::Tensor& tensor = value.value.toTensor();
  const std::int64_t device =
      style.device_type >= 0 ? style.device_type : static_cast<std::int64_t>(tensor.device().type());
  const std::int64_t data_type = data_type_of(tensor.scalar_type(), style);
  Dataset dataset;
  dataset.add("DeviceType", device);
  if (data_type < 0 &&
      tensor.unsafeGetTensorImpl()->has_storage()) {  // a dataset of the right shape, without data
    dataset.shape = tensor.sizes();
    return write(file, path, dataset);
  }
  const Stored stored = store(tensor, style);
  if (!stored.tensor.defined()) return OPDUMP_OK;
  dataset.dtype = stored.dtype;
  dataset.shape = stored.tensor.sizes();
  dataset.data = stored.tensor.data_ptr();
  dataset.add("DataType", data_type);
  dataset.add("FormatType", kFormat);
  dataset.add("Type", kTensor);
  const at::IntArrayRef strides = stored.tensor.strides();
  dataset.attributes.push_back({"Stride", 1, static_cast<std::uint32_t>(strides.size()), strides.data()});
  const auto unread = static_cast<std::int64_t>(value.unread);
  if (value.unread != Unread::no && !style.bug_compatible) dataset.add("opdump_unread", unread);
  return write(file, path, dataset);
}

opdump_status write_options(opdump_h5* file, const std::string& path, const NamedValue& value,
                            const std::int64_t& type) {
  Dataset dataset;
  dataset.add("DeviceType", value.device_type);
  dataset.add("DataType", value.data_type);
  dataset.add("RequiresGrad", value.requires_grad);
  dataset.add("Type", type);
  return write(file, path, dataset);
}

// Everything else has `Type` only.
opdump_status write_plain(opdump_h5* file, const std::string& path, const NamedValue& value,
                          const std::int64_t& type, const FileStyle& style) {
  Dataset dataset;
  dataset.add("Type", type);
  const c10::IValue& v = value.value;
  if (v.isIntList()) {
    const auto list = v.toIntVector();
    const auto count = static_cast<std::int64_t>(list.size());
    dataset.dtype = OPDUMP_INT64;
    dataset.shape = count;
    dataset.data = list.data();
    return write(file, path, dataset);
  }
  const std::int64_t integer = v.isInt() ? v.toInt() : 0;
  const double floating = v.isDouble() ? v.toDouble() : 0;
  const std::int8_t boolean = v.isBool() && v.toBool();
  const auto number = static_cast<std::int32_t>(
      value.type == ValueType::scalar_type ? data_type_of(static_cast<at::ScalarType>(integer), style)
                                           : integer);
  const bool is_enumerator =
      value.type == ValueType::scalar_type || value.type == ValueType::optional_memory_format;
  dataset.dtype = is_enumerator  ? OPDUMP_INT32
                  : v.isInt()    ? OPDUMP_INT64
                  : v.isDouble() ? OPDUMP_FLOAT64
                                 : OPDUMP_INT8;
  dataset.data = is_enumerator  ? static_cast<const void*>(&number)
                 : v.isInt()    ? static_cast<const void*>(&integer)
                 : v.isDouble() ? static_cast<const void*>(&floating)
                                : static_cast<const void*>(&boolean);
  return write(file, path, dataset);
}

opdump_status write_value(opdump_h5* file, const std::string& path, const NamedValue& value,
                          const FileStyle& style) {
  const auto type = static_cast<std::int64_t>(value.type);
  if (value.type == ValueType::tensors) {
    opdump_h5_dataset group{};
    group.size = sizeof group;
    group.path = path.c_str();
    return opdump_h5_write(file, &group);
  }
  if (value.type == ValueType::tensor) return write_tensor(file, path, value, style);
  if (value.type == ValueType::tensor_options) return write_options(file, path, value, type);
  return write_plain(file, path, value, type, style);
}

void add_tensors(const DumperKind::Value& list, at::ArrayRef<c10::IValue> items, NamedValues& values) {
  values.push_back({list.name, ValueType::tensors, {}});
  DumperKind::Value item{{}, ValueType::tensor, list.written, list.unread};
  for (std::size_t i = 0; i < items.size(); ++i) {
    item.name = list.name + "/" + list.name + "_" + std::to_string(i);
    add_value(item, items[i], values);
  }
}

// Numbers without text, complex numbers and symbols.
bool is_plain(ValueType type, const c10::IValue& value) {
  switch (type) {
    case ValueType::int_vector:
    case ValueType::int_array:
      return value.isIntList();
    case ValueType::boolean:
      return value.isBool();
    default:
      return value.isInt() || value.isDouble() || value.isBool();
  }
}

void add_options(const DumperKind& kind, at::ArrayRef<c10::IValue> arguments, NamedValues& values) {
  const auto first = static_cast<std::size_t>(kind.options);
  const c10::IValue &dtype = arguments[first], &device = arguments[first + 2];
  NamedValue options{"options", ValueType::tensor_options, {}};
  options.data_type = data_type_of(
      dtype.isInt() ? dtype.toScalarType() : at::typeMetaToScalarType(at::get_default_dtype()), {});
  options.device_type = device.isDevice() ? static_cast<std::int64_t>(device.toDevice().type()) : 0;
  values.push_back(std::move(options));
}

}  // namespace

void add_value(const DumperKind::Value& kind, const c10::IValue& value, NamedValues& values) {
  if (kind.type == ValueType::nothing || value.isNone()) return;
  if (kind.type == ValueType::tensors) {
    if (value.isList()) add_tensors(kind, value.toListRef(), values);
  } else if (kind.type == ValueType::tensor) {
    if (value.isTensor() && value.toTensor().defined())
      values.push_back({kind.name, kind.type, value, kind.written, kind.unread});
  } else if (is_plain(kind.type, value)) {
    values.push_back({kind.name, kind.type, value});
  }
}

void add_list(const std::string& name, at::ArrayRef<c10::IValue> tensors, NamedValues& values) {
  add_tensors({name, ValueType::tensors}, tensors, values);
}

NamedValues arguments_of(const DumperKind& kind, at::ArrayRef<c10::IValue> arguments) {
  NamedValues values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool in_options = kind.options >= 0 && i >= static_cast<std::size_t>(kind.options) &&
                            i < static_cast<std::size_t>(kind.options) + 4;
    if (static_cast<int>(i) == kind.options) add_options(kind, arguments, values);
    if (!in_options) add_value(kind.arguments[i], arguments[i], values);
  }
  return values;
}

NamedValues results_of(const DumperKind& kind, at::ArrayRef<c10::IValue> returns,
                       at::ArrayRef<c10::IValue> arguments) {
  NamedValues values;
  for (std::size_t i = 0; i < returns.size(); ++i) add_value(kind.returns[i], returns[i], values);
  for (const std::size_t i : kind.changed)
    add_value({kind.arguments[i].name, kind.arguments[i].type}, arguments[i], values);
  return values;
}

// Asks nothing that the program's own kind of tensor may answer itself before it is known to be none.
bool has_elements(const at::Tensor& tensor) {
  const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  if (!impl->has_storage() || tensor.is_nested() || tensor.is_meta() || tensor.layout() != at::kStrided)
    return false;
  if (impl->storage().data()) return true;
  // A subclass without memory of its own; memory that was given back; or an empty tensor.
  return !impl->key_set().has(c10::DispatchKey::Python) && tensor.numel() == 0;
}

at::Tensor elements_of(const at::Tensor& tensor) {
  if (tensor.is_quantized()) return elements_of(tensor.dequantize());
  if (!has_elements(tensor)) return {};
  if (tensor._is_zerotensor()) return at::zeros(tensor.sizes(), tensor.options().device(at::kCPU));
  return tensor.resolve_conj().resolve_neg().to(at::kCPU).contiguous();
}

std::int64_t data_type_of(at::ScalarType type, const FileStyle& style) {
  switch (type) {
    case at::kFloat:
      return OPDUMP_H5_FLOAT32;
    case at::kByte:
      return OPDUMP_H5_UINT8;
    case at::kChar:
      return OPDUMP_H5_INT8;
    case at::kShort:
      return OPDUMP_H5_INT16;
    case at::kInt:
      return OPDUMP_H5_INT32;
    case at::kLong:
      return OPDUMP_H5_INT64;
    case at::kBool:
      return OPDUMP_H5_BOOL;
    case at::kHalf:
      return OPDUMP_H5_FLOAT16;
    case at::kDouble:
      return OPDUMP_H5_FLOAT64;
    default:
      break;
  }
  if (style.bug_compatible) return -1;
  switch (type) {
    case at::kComplexFloat:
      return OPDUMP_H5_COMPLEX64;
    case at::kComplexDouble:
      return OPDUMP_H5_COMPLEX128;
    case at::kBFloat16:
      return OPDUMP_H5_BFLOAT16;
    case at::kQInt8:
    case at::kQUInt8:
    case at::kQInt32:
      return OPDUMP_H5_FLOAT32;  // written as what they stand for
    default:
      return -1;
  }
}

opdump_status write_values(opdump_h5* file, const std::string& group, const NamedValues& values,
                           const FileStyle& style) {
  opdump_h5_dataset d{};
  d.size = sizeof d;
  d.path = group.c_str();
  opdump_status status = opdump_h5_write(file, &d);
  for (std::size_t i = 0; i < values.size() && status == OPDUMP_OK; ++i)
    status = write_value(file, group + "/" + values[i].name, values[i], style);
  return status;
}

struct Unobserved::Guards {
  c10::impl::ExcludeDispatchKeyGuard hooks{
      c10::DispatchKeySet{
          c10::DispatchKey::Fake, c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
#if !OPDUMP_TORCH_AT_LEAST(2, 13)
          c10::DispatchKey::Named,
#endif
          c10::DispatchKey::Functionalize, c10::DispatchKey::FuncTorchVmapMode, c10::DispatchKey::VmapMode,
          c10::DispatchKey::FuncTorchDynamicLayerFrontMode, c10::DispatchKey::FuncTorchDynamicLayerBackMode} |
      c10::autocast_dispatch_keyset};
#if !OPDUMP_TORCH_AT_LEAST(2, 13)  // which has no named tensors any more
  at::NoNamesGuard nameless;
#endif
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  at::DisableRecordFunctionGuard silent;
};

Unobserved::Unobserved() : guards_(new Guards) {}
Unobserved::~Unobserved() { delete guards_; }

}  // namespace opdump::torch_adapter
