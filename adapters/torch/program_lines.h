// The line of the watched program that runs now, and the calls that led there.
#pragma once

#include "names.h"

namespace opdump::torch_adapter {

// `in_model` is not filled in. Walks the frames, which takes long: only for new operators. With
// `has_script_frames` also those of TorchScript, which come first.
Source find_program_line(bool has_script_frames);

}  // namespace opdump::torch_adapter
