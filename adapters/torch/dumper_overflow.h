// Did an operator overflow? The original asks a status word of the hardware; here the numbers answer: a
// result is infinite, not a number, or the largest number of its dtype in magnitude (where hardware saturates
// instead), and no input is. torch_tf_frontends.md D.5.
#pragma once

#include "dumper_values.h"

namespace opdump::torch_adapter {

bool has_overflow(const NamedValues& inputs, const NamedValues& outputs);

// The values, with copies of the tensors that the operator may write to.
NamedValues keep(NamedValues values);

}  // namespace opdump::torch_adapter
