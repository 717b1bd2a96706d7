// How PyTorch 1.5's dumper records an operator, derived from its schema: its name in the file, whether it is
// recorded at all, and the names and type numbers of its arguments and results (torch_tf_frontends.md
// D.2, D.3).
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <string>
#include <vector>

namespace opdump::torch_adapter {

// The attribute `Type` of a dataset. `nothing` is not written.
enum class ValueType : std::int64_t {
  nothing = -1,
  tensor = 0,
  tensors = 1,
  int_vector = 2,
  integer = 3,
  boolean = 4,
  floating = 5,
  optional_floating = 6,
  scalar = 7,
  optional_integer = 9,
  optional_scalar = 10,
  scalar_type = 14,
  int_array = 16,
  optional_memory_format = 17,
  tensor_options = 18,
};

// The attribute `opdump_unread` of a tensor whose elements nobody reads.
enum class Unread : std::int64_t {
  no = 0,             // no attribute
  out = 1,            // an out= argument, before the operator
  overwritten = 2,    // what uniform_() or copy_() only writes to
  uninitialised = 3,  // memory that nothing was written to yet
};

struct DumperKind {
  struct Value {
    std::string name;
    ValueType type = ValueType::nothing;
    bool written = false;  // an argument that the operator may write to
    Unread unread = Unread::no;
  };
  std::string name;  // "add_Tensor"
  bool skipped = false;
  bool makes_fresh = false;      // returns memory that it writes nothing to
  std::vector<Value> arguments;  // of the schema, one for one
  int options = -1;              // the first of dtype, layout, device, pin_memory, written as one: "options"
  std::vector<Value> returns;
  std::vector<std::size_t> changed;  // arguments that are the results of an operator that returns nothing
};

// Thread-safe; the reference is valid for ever.
const DumperKind& dumper_kind(const c10::OperatorHandle& op);

// Whether a backward node of this name ("SqueezeBackward1") is left out.
bool is_skipped_node(const std::string& name);

}  // namespace opdump::torch_adapter
