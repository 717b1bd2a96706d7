#include "arguments.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "torch_version.h"

namespace opdump::torch_adapter {
namespace {

opdump_argument make(opdump_argument_kind kind) {
  opdump_argument argument{};
  argument.size = sizeof argument;
  argument.kind = kind;
  return argument;
}

opdump_argument integer(opdump_argument_kind kind, std::int64_t value) {
  opdump_argument argument = make(kind);
  argument.integer = value;
  return argument;
}

// As Python's torch has it: "float32", "strided", "channels_last". Null for numbers that are no more than
// that.
const char* enum_name(std::int64_t value, c10::TypeKind kind) {
  static constexpr const char* kScalarTypes[] = {
      "uint8",     "int8",       "int16", "int32", "int64",  "float16", "float32",  "float64",  "complex32",
      "complex64", "complex128", "bool",  "qint8", "quint8", "qint32",  "bfloat16", "quint4x2", "quint2x4"};
  static constexpr const char* kLayouts[] = {"strided",    "sparse_coo", "sparse_csr", "_mkldnn",
                                             "sparse_csc", "sparse_bsr", "sparse_bsc"};
  static constexpr const char* kMemoryFormats[] = {"contiguous_format", "preserve_format", "channels_last",
                                                   "channels_last_3d"};
  const auto find = [value](const auto& names) {
    return value >= 0 && static_cast<std::size_t>(value) < std::size(names) ? names[value] : nullptr;
  };
  switch (kind) {
    case c10::TypeKind::ScalarTypeType:
      return find(kScalarTypes);
    case c10::TypeKind::LayoutType:
      return find(kLayouts);
    case c10::TypeKind::MemoryFormatType:
      return find(kMemoryFormats);
    default:
      return nullptr;
  }
}

// A number of the program that became a tensor: "4", "0.5". Empty if its type has no such text.
std::string spell_number(const at::Tensor& number) {
  switch (number.scalar_type()) {
    case at::kDouble: {
      std::array<char, 32> text{};
      opdump_spell_number(*number.data_ptr<double>(), text.data());
      return text.data();
    }
    case at::kLong:
      return std::to_string(*number.data_ptr<std::int64_t>());
    case at::kBool:
      return *number.data_ptr<bool>() ? "True" : "False";
    default:
      return {};
  }
}

at::ScalarType autocast_type_of(c10::DeviceType device) {
#if OPDUMP_TORCH_AT_LEAST(2, 4)
  return at::autocast::get_autocast_dtype(device);
#else
  return device == c10::kCPU ? at::autocast::get_autocast_cpu_dtype()
                             : at::autocast::get_autocast_gpu_dtype();
#endif
}

// How deep the thread is in contexts of autocast.
int autocast_depth() {
  at::autocast::increment_nesting();
  return at::autocast::decrement_nesting();
}

// The type to which autocast converts inputs of the operator, or has converted them: it is off then while the
// operator runs. Nothing where it is off.
std::optional<at::ScalarType> autocast_type(c10::ArrayRef<c10::IValue> values) {
  if (autocast_depth() == 0) return std::nullopt;
  for (const c10::IValue& value : values) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.is_floating_point() || !(tensor.is_cpu() || tensor.is_cuda())) continue;
    const at::ScalarType type = autocast_type_of(tensor.is_cpu() ? c10::kCPU : c10::kCUDA);
    const bool is_on = !c10::impl::tls_is_dispatch_key_excluded(
        tensor.is_cpu() ? c10::DispatchKey::AutocastCPU : c10::DispatchKey::AutocastCUDA);
    if (is_on || tensor.scalar_type() == type) return type;
  }
  return std::nullopt;
}

std::string name_of_type(at::ScalarType type) {
  const char* const name = enum_name(static_cast<std::int64_t>(type), c10::TypeKind::ScalarTypeType);
  return name ? name : c10::toString(type);
}

}  // namespace

Arguments::Arguments(const OperatorKind& kind, c10::ArrayRef<c10::IValue> values) {
  arguments_.reserve(values.size() + 1);
  arguments_.push_back(make(OPDUMP_ARGUMENT_FUNCTION));
  arguments_.back().text = kind.function;
  if (const auto type = autocast_type(values)) add_state("autocast", name_of_type(*type));
  if (kind.random) add_generator(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    arguments_.push_back(convert(values[i], kind.arguments[i].type));
    arguments_.back().name = kind.arguments[i].name;
  }
}

void Arguments::add_state(const char* name, std::string_view text) {
  opdump_argument& state = arguments_.emplace_back(make(OPDUMP_ARGUMENT_STATE));
  state.name = name;
  state.text = arena_.keep(text);
}

// Of the CPU: the seed and a hash of the state, which tells how many numbers were drawn. An accelerator's own
// generator would have to be started for it.
void Arguments::add_generator(c10::ArrayRef<c10::IValue> values) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  for (const c10::IValue& value : values) {
    if (value.isGenerator()) {
      generator = value.toGenerator();
      break;
    }
    if ((value.isTensor() && value.toTensor().defined() && !value.toTensor().is_cpu()) ||
        (value.isDevice() && !value.toDevice().is_cpu()))
      return;
  }
  if (!generator.defined() || !generator.device().is_cpu()) return;
  const std::unique_lock lock(generator.mutex(), std::try_to_lock);
  if (!lock.owns_lock()) return;
  const at::mt19937_data_pod state = generator.get<at::CPUGeneratorImpl>()->engine().data();
  std::uint64_t hash = 0xCBF29CE484222325u ^ static_cast<std::uint64_t>(state.left_);  // FNV-1a
  for (const std::uint32_t word : state.state_) hash = (hash ^ word) * 0x100000001B3u;
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.begin(), text.end(), hash, 16);
  add_state("seed", std::to_string(generator.current_seed()));
  add_state("generator", {text.data(), static_cast<std::size_t>(end.ptr - text.data())});
}

opdump_argument Arguments::text(std::string_view text) {
  opdump_argument argument = make(OPDUMP_ARGUMENT_STRING);
  argument.text = arena_.keep(text);
  return argument;
}

opdump_argument Arguments::convert_list(const c10::IValue& value, c10::TypeKind type) {
  const c10::ArrayRef<c10::IValue> values = value.toListRef();
  opdump_argument* const items = arena_.make<opdump_argument>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) items[i] = convert(values[i], type);
  opdump_argument argument = make(OPDUMP_ARGUMENT_LIST);
  argument.count = values.size();
  argument.items = items;
  return argument;
}

opdump_argument Arguments::convert(const c10::IValue& value, c10::TypeKind type) {
  if (value.isTensor()) {
    const std::uint32_t operand = next_operand_++;
    if (!value.toTensor().defined()) return make(OPDUMP_ARGUMENT_NONE);
    opdump_argument argument = integer(OPDUMP_ARGUMENT_TENSOR, operand);
    if (value.toTensor().unsafeGetTensorImpl()->is_wrapped_number())
      argument.text = arena_.keep(spell_number(value.toTensor()));
    return argument;
  }
  if (value.isNone()) {
    ++next_operand_;
    return make(OPDUMP_ARGUMENT_NONE);
  }
  if (value.isList()) return convert_list(value, type);
  if (value.isBool()) return integer(OPDUMP_ARGUMENT_BOOL, value.toBool() ? 1 : 0);
  if (value.isInt()) {
    if (const char* name = enum_name(value.toInt(), type)) return text(std::string("torch.") + name);
    return integer(OPDUMP_ARGUMENT_INT, value.toInt());
  }
  if (value.isDouble()) {
    opdump_argument argument = make(OPDUMP_ARGUMENT_FLOAT);
    argument.floating = value.toDouble();
    return argument;
  }
  if (value.isString()) return text(value.toStringRef());
  if (value.isDevice()) return text(value.toDevice().str());
  if (value.isComplexDouble()) {
    const auto z = value.toComplexDouble();
    opdump_argument argument =
        text(std::to_string(z.real()) + (z.imag() < 0 ? "" : "+") + std::to_string(z.imag()) + "j");
    argument.floating = std::isfinite(z.real()) ? z.imag() : z.real();
    return argument;
  }
  return text(value.tagKind());  // a generator, a stream
}

}  // namespace opdump::torch_adapter
