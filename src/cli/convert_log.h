// operators.jsonl beside what `opdump convert` writes, so that the files, which are a dump again, have full
// names, source lines and what was not dumped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"
#include "dump/read/runs.h"

namespace opdump::cli {

// Writes what the dump knows of the operators of `chosen`, and of their slots without data that are wanted,
// into OUTPUT/rank_N/operators.jsonl. Lines of other operators that are there already stay, next to those
// that they follow. Nothing is written for ranks of whose operators the dump knows nothing. Errors: io.
Result<> write_operator_logs(const dump::Runs& runs, std::span<const std::uint32_t> chosen,
                             const std::string& wanted, const std::filesystem::path& output);

}  // namespace opdump::cli
