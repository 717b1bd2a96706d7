// operators.jsonl of a recording that keeps its last steps only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace opdump::dump {

// Without the lines that say what an operator executed, read or was a part of in steps before `step`, where a
// later line says it of `step`: what a line says holds until the next one of its operator. All other lines,
// also damaged ones, stay, and so does the order.
std::string prune_operator_log(std::string_view text, std::int64_t step);

// Does so with the log in the directory of a rank, which is replaced: who appends to it opens it again.
// Returns its size in bytes. Errors: not_found, io.
Result<std::uint64_t> prune_operator_log_file(const std::filesystem::path& rank_directory, std::int64_t step);

}  // namespace opdump::dump
