// Which parts of tensors operands are. A DTensor is a tensor that several processes hold together, and torch
// runs each of its operators on the parts: RecordFunction reports the operator with the DTensors, the
// dispatch key the one below it with the parts, and what the outputs are is known when both have ended.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bridge.h"
#include "operands.h"

namespace opdump::torch_adapter {

// An operator on DTensors that is under way on this thread. They nest.
class ShardedCall {
 public:
  using Wrappers = c10::SmallVector<c10::TensorImpl*, 4>;
  // `wrappers`: arguments that may be DTensors.
  explicit ShardedCall(Wrappers wrappers);
  ~ShardedCall();
  ShardedCall(const ShardedCall&) = delete;
  ShardedCall& operator=(const ShardedCall&) = delete;

  // The innermost one, or null.
  static ShardedCall* current();

  // A recorded operator below it, before and after it runs.
  void begin(const opdump_op* op, const Operands& inputs);
  void end(const opdump_op* op, const Operands& outputs);
  // It has returned. Says what is known of the operators below it.
  void finish(opdump_session* session, c10::ArrayRef<c10::IValue> returns);

 private:
  // Keeps the address of a tensor from being another's, without keeping the tensor.
  using Keeper = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  struct Operand {
    const opdump_op* op = nullptr;
    std::uint32_t index = 0;
    bool is_output = false;
    const void* address = nullptr;
    Keeper keeper;
  };
  void look_at(c10::TensorImpl* wrapper);
  const opdump_torch_shard* find(const Operand& operand) const;
  void add(const opdump_op* op, const Operands& operands, bool are_outputs);
  void report(opdump_session* session, const opdump_op* op) const;

  ShardedCall* outer_;
  Wrappers wrappers_;  // not looked at so far
  std::vector<opdump_torch_shard> shards_;
  std::unordered_map<const void*, std::size_t> shard_at_;  // in shards_, by the addresses of its tensors
  std::vector<Operand> operands_;
};

// Of the arguments of an operator: those whose operators Python runs.
ShardedCall::Wrappers find_wrappers(c10::ArrayRef<const c10::IValue> arguments);

}  // namespace opdump::torch_adapter
