// The tensors among the arguments or results of an operator, in the recorder's form.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <list>
#include <vector>

#include "contents.h"
#include "device/reductions.h"
#include "opdump/opdump.h"

namespace opdump::torch_adapter {

// Why the tensors of an operator that moves no data are not dumped.
inline constexpr const char* kView = "view";

// opdump_tensors whose pointers lead into at::Tensors that must outlive it.
class Operands {
 public:
  explicit Operands(Contents& contents) : contents_(contents) {}

  // Adds what `value` holds: a tensor, a list of tensors, or nothing. Every tensor takes an operand index,
  // and so does each argument that could have been a tensor but is None. `undumped` says why there is no
  // data, or is null.
  void add(const c10::IValue& value, const char* undumped);

  const opdump_tensor* data() const { return tensors_.data(); }
  std::size_t size() const { return tensors_.size(); }
  c10::TensorImpl* implementation(std::size_t i) const { return implementations_[i]; }
  // Whether the device keeps the operator for later: there are no values now.
  bool saw_capture() const { return saw_capture_; }

 private:
  void add_tensor(const at::Tensor& tensor, const char* undumped);
  void describe(const at::Tensor& tensor, const char* undumped, opdump_tensor& operand);
  Block* add_content(const at::Tensor& tensor, c10::StorageImpl* storage, opdump_tensor& operand);
  const at::Tensor& compute(const at::Tensor& view);
  const at::Tensor* to_host(const at::Tensor& tensor, opdump_tensor& operand);

  Contents& contents_;
  std::uint32_t next_index_ = 0;
  bool saw_capture_ = false;
  c10::SmallVector<opdump_tensor, 8> tensors_;             // most operators have fewer
  c10::SmallVector<c10::TensorImpl*, 8> implementations_;  // of them
  std::vector<StagedPointer> copies_;                      // of tensors on other devices
  std::list<at::Tensor> computed_;                         // of views that are more than memory
};

// Null: it has none, or is of a kind that throws when it is asked.
c10::StorageImpl* find_storage(const at::Tensor& tensor) noexcept;

// Calls `f` with the StorageImpl of each tensor in `value` that has one.
template <typename F>
void for_each_storage(const c10::IValue& value, F&& f) {
  if (value.isTensor()) {
    if (c10::StorageImpl* storage = find_storage(value.toTensor())) f(storage);
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) for_each_storage(item, f);
  }
}

}  // namespace opdump::torch_adapter
