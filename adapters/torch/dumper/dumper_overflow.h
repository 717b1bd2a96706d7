// Detects whether an operator overflowed. The original reads a status word of the hardware. Here an operator
// overflows if a result is infinite, NaN, or the largest number of its dtype in magnitude (as on saturating
// hardware), and no input is, in its own dtype or in that of the result: masks are often filled with the
// lowest finite number. torch_tf_frontends.md D.5.
#pragma once

#include "dumper/dumper_values.h"

namespace opdump::torch_adapter {

bool has_overflow(const NamedValues& inputs, const NamedValues& outputs);

// The values, with copies of the tensors that the operator may write to.
NamedValues keep(NamedValues values);

}  // namespace opdump::torch_adapter
