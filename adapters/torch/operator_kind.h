// How an operator is recorded, derived from its schema: all that a call asks of the schema, which lies in
// many places of the memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace opdump::torch_adapter {

struct OperatorKind {
  const char* type = nullptr;      // "convolution"; "mylib_scale" outside aten; interned
  const char* function = nullptr;  // with its overload: "aten::add.Tensor"; interned
  bool skipped = false;            // not an operator on data (profiler marks)
  bool view = false;               // moves no data
  bool composite = false;          // calls other operators; most devices have no kernel for it
  bool uninitialised = false;      // its outputs are unwritten memory
  bool constant = false;           // all elements of its result are one number
  int partly = -1;                 // the output of which it writes a part only
  bool writes = false;             // some argument is written to, or may be
  bool is_silent = false;          // its schema says nothing of what it writes to
  bool collective = false;         // of several processes: it may go on after it has returned
  bool random = false;             // it draws random numbers
  bool awaited = false;            // its outputs are complete only after wait_tensor
  struct Argument {
    const char* name = nullptr;                   // interned
    c10::TypeKind type = c10::TypeKind::AnyType;  // of its value, or of the items of a list
    bool written = false;
    bool out = false;              // only written to: its value before the call means nothing
    bool overwritten = false;      // as out, and its shape is that of the result
    bool is_extra_output = false;  // written to, and not what the operator returns
    int written_if = -1;           // written to only if this argument, a boolean, is true; -1: always
  };
  std::vector<Argument> arguments;
  std::size_t return_count = 0;

  // Whether the call with these arguments may write to one of them.
  bool writes_to(std::size_t argument, c10::ArrayRef<c10::IValue> given) const {
    const Argument& a = arguments[argument];
    if (!a.written || a.written_if < 0) return a.written;
    const c10::IValue& condition = given[static_cast<std::size_t>(a.written_if)];
    return !condition.isBool() || condition.toBool();
  }

  bool leaves_uninitialised(std::size_t output) const {
    return uninitialised || static_cast<int>(output) == partly;
  }
};

// Thread-safe; the reference is valid for ever.
const OperatorKind& operator_kind(const c10::OperatorHandle& op);

}  // namespace opdump::torch_adapter
