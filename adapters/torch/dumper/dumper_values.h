// The inputs or outputs of one operator in a dumper file: named values, each written as a dataset with its
// attributes (torch_tf_frontends.md D.3). Lists of tensors are written item by item,
// "tensors/tensors_0".
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dumper/dumper_kind.h"
#include "opdump/opdump_h5.h"

namespace opdump::torch_adapter {

struct NamedValue {
  std::string name;  // "self"; "tensors" for a list without tensors, which leaves a group
  ValueType type = ValueType::nothing;
  c10::IValue value;     // a tensor, an integer, a float, a boolean, a list of integers; none for options
  bool written = false;  // the operator may write to it
  Unread unread = Unread::no;  // of a tensor
  // Of tensor options, in the numbers of the file.
  std::int64_t device_type = 0, data_type = 0, requires_grad = 0;
};
using NamedValues = std::vector<NamedValue>;

// What is written for it: nothing for None and for what has no type.
void add_value(const DumperKind::Value& kind, const c10::IValue& value, NamedValues& values);

// A list of tensors, of which some may be None.
void add_list(const std::string& name, at::ArrayRef<c10::IValue> tensors, NamedValues& values);

NamedValues arguments_of(const DumperKind& kind, at::ArrayRef<c10::IValue> arguments);
// `arguments` are those of before the call, for operators that return nothing.
NamedValues results_of(const DumperKind& kind, at::ArrayRef<c10::IValue> returns,
                       at::ArrayRef<c10::IValue> arguments);

// How files are written.
struct FileStyle {
  bool bug_compatible = false;    // the original's bytes: uint8 as signed, nothing for bfloat16, ...
  std::int64_t device_type = -1;  // what `DeviceType` says of every tensor; -1: where it is
};

// False for tensors without memory of their own (sparse, meta), of which there is no dataset.
bool has_elements(const at::Tensor& tensor);

// The elements row by row, in the memory of the CPU: of quantised ones what they stand for. Undefined if
// it has none.
at::Tensor elements_of(const at::Tensor& tensor);

// The number of a dtype in a file, -1 if it has none. As in ONNX.
std::int64_t data_type_of(at::ScalarType type, const FileStyle& style);

// Writes the values below `group` ("/add_Tensor/1/input"), which is made even if there are none.
opdump_status write_values(opdump_h5* file, const std::string& group, const NamedValues& values,
                           const FileStyle& style);

// During its lifetime, operators of this thread are opdump's: hidden from modes and profilers, no autograd.
class Unobserved {
 public:
  Unobserved();
  ~Unobserved();
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;

 private:
  struct Guards;
  Guards* guards_;
};

}  // namespace opdump::torch_adapter
