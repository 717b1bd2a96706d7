// `opdump msaccucmp ...`: the original's verbs, options, names, messages and exit codes (cann.md 4).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "msaccucmp/failure.h"
#include "msaccucmp/verbs/argparse.h"

namespace opdump::msaccucmp {

// The whole of it. `args` are the words after `opdump msaccucmp`; returns the exit code.
Result<int> run(std::span<const char* const> args);

// The verbs. Each takes the values that argparse has read, and returns the exit status; the caller logs the
// time that it took.
inline constexpr std::string_view kConvertTypes[] = {"npy", "bin", "msnpy",
                                                     "pt"};  // in the order of FileType
Status run_convert(const ParsedArguments& values);
Status run_overflow(const ParsedArguments& values);
Status run_file_compare(const ParsedArguments& values);

}  // namespace opdump::msaccucmp
