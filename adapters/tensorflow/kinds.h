// What the observer does with operators of a type.
#pragma once

#include <string>
#include <string_view>

namespace opdump::tensorflow_adapter {

enum class Kind {
  computing,  // recorded
  view,       // recorded; its output is not dumped, because it moves no data
  updating,   // recorded, with the variables that it changes
  reading,    // gives the value of a variable
  constant,   // gives a constant
  argument,   // gives an argument of a function
  calling,    // runs a function, whose operators are recorded
  plumbing,   // moves values, data sets and control
};

// The type that the program knows. On some processors TensorFlow replaces operators by those of oneDNN:
// "_MklMatMul" is MatMul, "_MklNativeFusedMatMul" is _FusedMatMul.
std::string known_type(std::string_view type);

Kind kind_of(std::string_view type);

// ResourceApplyAdam and its like: operators that only an optimizer runs.
bool is_optimizer_type(std::string_view type);

}  // namespace opdump::tensorflow_adapter
