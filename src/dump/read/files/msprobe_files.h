// What msprobe writes of a step of a process (format/tables/msprobe.h), read: dump.json with construct.json
// and stack.json beside it, and the tensors in dump_tensor_data.
#pragma once

#include <filesystem>

#include "dump/read/dump_set.h"

namespace opdump::dump {

// Hands the calls in `path`, a dump.json or debug.json, to `take`, in its order. Each knows its operator:
// named
// "{module}/{call}", as "layer1/conv1/Functional.conv2d.0.forward". Appends to `problems`; tensors outside of
// dump_tensor_data are not read.
void read_msprobe_files(const std::filesystem::path& path, Problems& problems, const TakeRun& take);

}  // namespace opdump::dump
