// What the name of an operator says of its place.
#pragma once

#include <string>
#include <string_view>

#include "dump/read/operator_run.h"

namespace opdump::compare {

// The scope of an operator, sanitised: its full name up to the last '/'. A dump that knows only sanitised
// names has the name without its last piece, "_{type}-op12".
std::string scope_of(const dump::OperatorRun& run);

// "Default/fc-Linear/addmm" of "Default/fc-Linear/addmm-op1"; "gradient_tape/Mul/Mul" of
// "gradient_tape/Mul/Mul_4".
std::string_view without_number(std::string_view name, std::string_view type);

// The modules of an operator, whatever their classes; empty outside of modules, and in the backward pass.
std::string path_of(const dump::OperatorRun& run);

}  // namespace opdump::compare
