#include "dumper/dumper_kind.h"

#include <ATen/core/function_schema.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "operator_kind.h"

namespace opdump::torch_adapter {
namespace {

// The list of the original, and below it views that PyTorch 1.5 had no recorded operator for.
const std::unordered_set<std::string_view>& skipped_names() {
  static const auto* names = new std::unordered_set<std::string_view>{"is_floating_point",
                                                                      "to_dtype",
                                                                      "to_dtype_layout",
                                                                      "to_device",
                                                                      "view",
                                                                      "view_as",
                                                                      "t",
                                                                      "numpy_T",
                                                                      "size_int",
                                                                      "item",
                                                                      "set__source_Storage_storage_offset",
                                                                      "set__source_Storage",
                                                                      "pin_memory",
                                                                      "slice_Tensor",
                                                                      "select_int",
                                                                      "squeeze",
                                                                      "unsqueeze",
                                                                      "split_Tensor",
                                                                      "expand_as",
                                                                      "as_stride",
                                                                      "empty_strided",
                                                                      "permute",
                                                                      "chunk",
                                                                      "narrow",
                                                                      "npu_alloc_float_status",
                                                                      "npu_get_float_status",
                                                                      "npu_clear_float_status",
                                                                      "nll_loss",
                                                                      "detach",
                                                                      "detach_",
                                                                      "alias",
                                                                      "lift",
                                                                      "lift_fresh",
                                                                      "_reshape_alias"};
  return *names;
}

ValueType type_of_optional(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return ValueType::optional_integer;
    case c10::TypeKind::FloatType:
      return ValueType::optional_floating;
    case c10::TypeKind::NumberType:
      return ValueType::optional_scalar;
    case c10::TypeKind::MemoryFormatType:
      return ValueType::optional_memory_format;
    case c10::TypeKind::BoolType:
      return ValueType::nothing;
    default:
      return ValueType::scalar;  // not one of these: type_of() decides
  }
}

ValueType type_of_list(const c10::TypePtr& element) {
  switch (element->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::OptionalType:  // of tensors
      return ValueType::tensors;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return ValueType::int_array;
    default:
      return ValueType::nothing;
  }
}

ValueType type_of(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return ValueType::tensor;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return ValueType::integer;
    case c10::TypeKind::BoolType:
      return ValueType::boolean;
    case c10::TypeKind::FloatType:
      return ValueType::floating;
    case c10::TypeKind::NumberType:
      return ValueType::scalar;
    case c10::TypeKind::ScalarTypeType:
      return ValueType::scalar_type;
    case c10::TypeKind::ListType:
      return type_of_list(type->castRaw<c10::ListType>()->getElementType());
    case c10::TypeKind::OptionalType: {
      const c10::TypePtr& element = type->castRaw<c10::OptionalType>()->getElementType();
      const ValueType optional = type_of_optional(element);
      return optional == ValueType::scalar ? type_of(element) : optional;
    }
    default:
      return ValueType::nothing;  // text, devices, generators, layouts
  }
}

// Results: tensors, lists of them and integers are written, nothing else.
ValueType type_of_result(const c10::Argument& result) {
  const ValueType type = type_of(result.real_type());
  const bool is_told = type == ValueType::tensor || type == ValueType::tensors || type == ValueType::integer;
  return is_told ? type : ValueType::nothing;
}

// The four arguments that make a tensor, which C++ has as one.
int find_options(const std::vector<c10::Argument>& arguments) {
  static constexpr std::string_view kNames[] = {"dtype", "layout", "device", "pin_memory"};
  for (std::size_t first = 0; first + 4 <= arguments.size(); ++first)
    if (std::equal(std::begin(kNames), std::end(kNames),
                   arguments.begin() + static_cast<std::ptrdiff_t>(first),
                   [](std::string_view name, const c10::Argument& a) { return name == a.name(); }))
      return static_cast<int>(first);
  return -1;
}

// "self" of an operator that works in place, "out" of one that fills what it is given; else as the schema
// says.
std::string name_of_result(const c10::FunctionSchema& schema, std::size_t index) {
  const c10::Argument& result = schema.returns()[index];
  if (result.alias_info() && result.alias_info()->isWrite())
    for (const c10::Argument& argument : schema.arguments())
      if (argument.alias_info() && argument.alias_info()->beforeSets() == result.alias_info()->beforeSets())
        return argument.name();
  if (!result.name().empty()) return result.name();
  return schema.returns().size() == 1 ? "result" : "result" + std::to_string(index);
}

Unread unread_of(const OperatorKind::Argument& argument) {
  return argument.out ? Unread::out : argument.overwritten ? Unread::overwritten : Unread::no;
}

DumperKind describe(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  const OperatorKind& known = operator_kind(op);
  DumperKind kind;
  kind.name = known.type;
  if (!schema.overload_name().empty()) kind.name += "_" + schema.overload_name();
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    kind.arguments.push_back({argument.name(), type_of(argument.real_type()), known.arguments[i].written,
                              unread_of(known.arguments[i])});
    if (schema.returns().empty() && known.arguments[i].written) kind.changed.push_back(i);
  }
  kind.options = find_options(schema.arguments());
  for (std::size_t i = 0; i < schema.returns().size(); ++i)
    kind.returns.push_back({name_of_result(schema, i), type_of_result(schema.returns()[i])});
  const bool says_nothing =
      kind.options < 0 && std::ranges::all_of(kind.arguments, [](const DumperKind::Value& v) {
        return v.type == ValueType::nothing;
      });
  // resize_() may leave the tensor the memory that it has.
  kind.makes_fresh = known.uninitialised && !std::string_view(known.type).starts_with("resize");
  // The values of fresh memory are nobody's.
  kind.skipped = known.skipped || known.uninitialised || says_nothing || skipped_names().contains(kind.name);
  return kind;
}

}  // namespace

const DumperKind& dumper_kind(const c10::OperatorHandle& op) {
  static std::mutex mutex;  // guards kinds; never destroyed: operators run while the process ends
  static auto* kinds = new std::unordered_map<const void*, std::unique_ptr<DumperKind>>;
  const std::lock_guard lock(mutex);
  auto& kind = (*kinds)[&op.schema()];
  if (!kind) kind = std::make_unique<DumperKind>(describe(op));
  return *kind;
}

bool is_skipped_node(const std::string& name) {
  static const auto* names =
      new std::unordered_set<std::string_view>{"ViewBackward",         "TBackward",
                                               "PermuteBackward",      "SqueezeBackward0",
                                               "SqueezeBackward1",     "SqueezeBackward2",
                                               "SqueezeBackward3",     "UnsqueezeBackward0",
                                               "UnsqueezeBackward1",   "MaxPool2DWithIndicesBackward",
                                               "FusedDropoutBackward", "NpuDropoutBackward"};
  return names->contains(name);
}

}  // namespace opdump::torch_adapter
