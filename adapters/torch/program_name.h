// The model name of a program, for configurations that select models by name.
#pragma once

#include <string>
#include <string_view>

namespace opdump::torch_adapter {

// "train" for `python3 -u src/train.py 1` and for `./train`, "pkg.train" for `python3 -m pkg.train`,
// "python3" if Python runs no file. `command_line` is the content of /proc/self/cmdline: words that end with
// a zero.
std::string program_name(std::string_view command_line);

// The name of this program.
std::string program_name();

}  // namespace opdump::torch_adapter
