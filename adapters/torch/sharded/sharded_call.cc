#include "sharded/sharded_call.h"

#include <ATen/core/Tensor.h>
#include <c10/core/UndefinedTensorImpl.h>

#include <cstring>
#include <utility>

#include "bridge.h"
#include "switches.h"

namespace opdump::torch_adapter {
namespace {

thread_local ShardedCall* innermost = nullptr;

// Calls `f` with each tensor in `value` whose operators Python runs.
template <typename F>
void for_each_wrapper(const c10::IValue& value, F&& f) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && tensor.key_set().has(c10::DispatchKey::Python)) f(tensor.unsafeGetTensorImpl());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) for_each_wrapper(item, f);
  }
}

// Versions of torch spell it differently, and have no DTensor where none of these is there.
template <typename Tensor>
void* object_of(Tensor* tensor) {
  if constexpr (requires { tensor->pyobj_slot()->load_pyobj(); })
    return tensor->pyobj_slot()->load_pyobj();
  else if constexpr (requires { tensor->pyobj_slot()->_unchecked_untagged_pyobj(); })
    return tensor->pyobj_slot()->_unchecked_untagged_pyobj();
  else
    return nullptr;
}

}  // namespace

ShardedCall::ShardedCall(Wrappers wrappers)
    : outer_(std::exchange(innermost, this)), wrappers_(std::move(wrappers)) {}

ShardedCall::~ShardedCall() { innermost = outer_; }

ShardedCall* ShardedCall::current() { return innermost; }

void ShardedCall::begin(const opdump_op* op, const Operands& inputs) {
  for (c10::TensorImpl* wrapper : std::exchange(wrappers_, {})) look_at(wrapper);
  add(op, inputs, false);
}

void ShardedCall::end(const opdump_op* op, const Operands& outputs) { add(op, outputs, true); }

void ShardedCall::finish(opdump_session* session, c10::ArrayRef<c10::IValue> returns) {
  if (operands_.empty()) return;
  for (c10::TensorImpl* wrapper : find_wrappers(returns)) look_at(wrapper);
  const opdump_op* last = nullptr;
  for (const Operand& operand : operands_)
    if (operand.op != std::exchange(last, operand.op)) report(session, operand.op);
}

void ShardedCall::look_at(c10::TensorImpl* wrapper) {
  const opdump_torch_bridge* bridge = current_bridge();
  opdump_torch_shard shard{};
  if (!bridge || !bridge->describe_shard || !bridge->describe_shard(wrapper, &shard)) return;
  // What is seen last applies: an operator may change what its argument is.
  for (const void* tensor : shard.tensors) shard_at_[tensor] = shards_.size();
  shards_.push_back(shard);
}

void ShardedCall::add(const opdump_op* op, const Operands& operands, bool are_outputs) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto tensor =
        c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(operands.implementation(i));
    operands_.push_back({op, operands.data()[i].index, are_outputs, tensor.get(), Keeper(tensor)});
    tensor.release();  // it was not ours: its count of owners has not changed
  }
}

const opdump_torch_shard* ShardedCall::find(const Operand& operand) const {
  const auto found = shard_at_.find(operand.address);
  return found == shard_at_.end() ? nullptr : &shards_[found->second];
}

// One mesh for an operator: that of its first operand that has one.
void ShardedCall::report(opdump_session* session, const opdump_op* op) const {
  const opdump_torch_shard* first = nullptr;
  c10::SmallVector<opdump_part, 8> parts;
  for (const Operand& operand : operands_) {
    const opdump_torch_shard* shard = operand.op == op ? find(operand) : nullptr;
    if (!shard) continue;
    if (!first) first = shard;
    const std::size_t bytes = first->rank * sizeof first->mesh[0];
    if (shard->rank != first->rank || std::memcmp(shard->mesh, first->mesh, bytes) != 0) continue;
    parts.push_back({sizeof(opdump_part), operand.is_output ? 1u : 0u, operand.index, 0, shard->placements});
  }
  if (!first) return;
  const opdump_mesh mesh{sizeof(opdump_mesh), first->rank, first->mesh, first->place};
  opdump_set_parts(session, op, &mesh, parts.data(), parts.size());
}

ShardedCall::Wrappers find_wrappers(c10::ArrayRef<const c10::IValue> arguments) {
  ShardedCall::Wrappers wrappers;
  for (const c10::IValue& argument : arguments)
    for_each_wrapper(argument, [&](c10::TensorImpl* wrapper) { wrappers.push_back(wrapper); });
  return wrappers;
}

}  // namespace opdump::torch_adapter

void* opdump_torch_python_object(void* tensor) {
  return opdump::torch_adapter::object_of(static_cast<c10::TensorImpl*>(tensor));
}
