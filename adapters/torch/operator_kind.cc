#include "operator_kind.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "names.h"

namespace opdump::torch_adapter {
namespace {

// Schemas of 1.13 to 2.x leave these writes undeclared: running statistics and the noise of rrelu.
bool writes_undeclared(std::string_view type, std::string_view argument) {
  if (argument == "running_mean" || argument == "running_var")
    return type.find("norm") != std::string_view::npos && !type.ends_with("_functional");
  return argument == "noise" && type.starts_with("rrelu_with_noise") && !type.ends_with("_backward");
}

// The noise of rrelu is made in training only, and never read. Else it is memory that nobody writes to.
void describe_noise(const c10::FunctionSchema& schema, OperatorKind& kind) {
  const auto training = schema.argumentIndexWithName("training");
  for (OperatorKind::Argument& argument : kind.arguments)
    if (argument.written && training && std::string_view(argument.name) == "noise") {
      argument.overwritten = true;
      argument.written_if = *training;
    }
}

// Writes to all of its first argument, or to a copy of it, and does not read it.
bool overwrites(std::string_view type) {
  constexpr std::array<std::string_view, 16> kTypes = {
      "copy_",        "fill_",   "zero_",          "normal_",       "uniform_", "log_normal_",
      "exponential_", "cauchy_", "geometric_",     "random_",       "copy",     "bernoulli_",
      "fill",         "zero",    "_foreach_copy_", "_foreach_zero_"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// Makes a tensor whose elements are one number, which the call has.
bool fills(std::string_view type) {
  constexpr std::array<std::string_view, 9> kTypes = {
      "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// Collectives declare nothing. All of them write to their first argument and to no other; those that do not
// take it for an input, too, are left with `out`.
void describe_collective(std::string_view type, OperatorKind& kind) {
  kind.collective = true;
  if (kind.arguments.empty() || type.starts_with("send") || type.find("barrier") != std::string_view::npos)
    return;
  kind.writes = kind.arguments[0].written = true;
  kind.arguments[0].out =
      !type.starts_with("allreduce") && !type.starts_with("broadcast") && type != "reduce_";
}

// The tensor gets other memory, and none is written to: what lies there may come later, as in torch.load.
void look_elsewhere(OperatorKind& kind) {
  kind.view = true;
  kind.writes = false;
  for (OperatorKind::Argument& argument : kind.arguments) argument.written = false;
}

bool declares_write(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

// An argument that the schema or we know to be written to, and that is no return value as well.
bool is_extra_output(const c10::FunctionSchema& schema, const c10::Argument& argument, bool is_undeclared) {
  if (argument.is_out() || schema.returns().empty()) return false;
  if (is_undeclared) return true;
  const c10::AliasInfo* const alias = argument.alias_info();
  if (!declares_write(argument)) return false;
  return std::ranges::none_of(schema.returns(), [&](const c10::Argument& result) {
    return result.alias_info() && result.alias_info()->beforeSets() == alias->beforeSets();
  });
}

// The type inside Optional[...], or the type itself.
const c10::Type& without_optional(const c10::Type& type) {
  return type.kind() == c10::TypeKind::OptionalType && !type.containedTypes().empty()
             ? *type.containedTypes()[0]
             : type;
}

// Of a value, or of the values in a list.
c10::TypeKind kind_of_values(const c10::Type& declared) {
  const c10::Type& type = without_optional(declared);
  return type.kind() == c10::TypeKind::ListType ? kind_of_values(*type.containedTypes()[0]) : type.kind();
}

OperatorKind describe_operator(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  OperatorKind kind;
  const std::string& name = schema.name();  // "aten::convolution"
  const std::size_t colons = name.find("::");
  const std::string space = colons == std::string::npos ? "" : name.substr(0, colons);
  std::string type = colons == std::string::npos ? name : name.substr(colons + 2);
  // detach_ changes no number, and is seen in inference mode only: elsewhere autograd's kernel calls nothing.
  kind.skipped = space == "profiler" || space == "prim" || space == "opdump_dumper" ||
                 space == "opdump_torch" || name == "aten::detach_";
  kind.composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
                   !op.hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
                   !op.hasKernelForDispatchKey(c10::DispatchKey::CUDA);
  kind.uninitialised = type.starts_with("empty") || type.starts_with("new_empty") ||
                       type.starts_with("_empty") || type.starts_with("resize");
  kind.constant = space == "aten" && fills(type);
  if (type == "_ctc_loss") kind.partly = 1;                 // log_alpha, beyond the lengths of the targets
  if (type == "mkldnn_rnn_layer") kind.partly = 3;          // workspace for the backward pass
  if (name == "fsdp::all_gather_copy_in") kind.partly = 1;  // what other ranks hold comes later

  // Operators from elsewhere often do not declare what they write to. Those that declare a part declare all:
  // torch.compile relies on it.
  const bool trusted = space == "aten" || space == "prims", is_collective = space == "c10d";
  kind.is_silent = !trusted && !is_collective && std::ranges::none_of(schema.arguments(), declares_write);
  for (const c10::Argument& argument : schema.arguments()) {
    OperatorKind::Argument a;
    a.name = intern(argument.name());
    a.type = kind_of_values(*argument.real_type());
    a.out = argument.is_out();
    a.written =
        a.out || declares_write(argument) || kind.is_silent || writes_undeclared(type, argument.name());
    a.is_extra_output =
        trusted && is_extra_output(schema, argument, writes_undeclared(type, argument.name()));
    kind.writes = kind.writes || a.written;
    kind.arguments.push_back(a);
  }
  if (trusted && overwrites(type)) kind.arguments[0].overwritten = true;
  if (trusted && type.starts_with("rrelu_with_noise")) describe_noise(schema, kind);
  kind.random = op.hasTag(at::Tag::nondeterministic_seeded) ||
                std::ranges::any_of(schema.arguments(), [](const c10::Argument& argument) {
                  return argument.name() == "generator";
                });
  if (is_collective) describe_collective(type, kind);
  const bool is_functional = space == "_c10d_functional", wraps = type == "_wrap_tensor_autograd";
  kind.awaited = is_functional && type != "wait_tensor" && !wraps;
  if (is_functional && type == "wait_tensor") kind.arguments[0].out = true;  // its value is under way
  kind.view = !schema.returns().empty() && std::ranges::all_of(schema.returns(), [](const c10::Argument& r) {
    return r.alias_info() && !r.alias_info()->isWrite();
  });
  if (is_functional && wraps) kind.view = true;
  if (type == "_conj" || type == "_neg_view") kind.view = false;  // of other numbers
  if (type == "set_") look_elsewhere(kind);
  if (!trusted && !space.empty()) type = space + "_" + type;
  std::ranges::replace(type, '/', '_');
  kind.return_count = schema.returns().size();
  kind.type = intern(type);
  kind.function = intern(schema.overload_name().empty() ? name : name + "." + schema.overload_name());
  return kind;
}

}  // namespace

const OperatorKind& operator_kind(const c10::OperatorHandle& op) {
  // Most have a place of their own: after a kernel little of ours is in the cache, and a table of lists would
  // look at three places.
  struct Known {
    const void* schema = nullptr;
    const OperatorKind* kind = nullptr;
  };
  thread_local std::array<Known, 512> mine;
  const void* const schema = &op.schema();
  Known& known = mine[reinterpret_cast<std::uintptr_t>(schema) * 0x9E3779B97F4A7C15u >> 55];
  if (known.schema == schema) return *known.kind;
  // Never destroyed: operators run while the process ends.
  static std::mutex mutex;  // guards kinds
  static auto* kinds = new std::unordered_map<const void*, std::unique_ptr<OperatorKind>>;
  const std::lock_guard lock(mutex);
  auto& kind = (*kinds)[schema];
  if (!kind) kind = std::make_unique<OperatorKind>(describe_operator(op));
  known = {schema, kind.get()};
  return *kind;
}

}  // namespace opdump::torch_adapter
