// Writes operators.jsonl beside the output of `opdump convert`, which is itself a dump: full names, source
// lines, and slots without data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"
#include "dump/read/runs.h"

namespace opdump::cli {

// Writes the dump's properties of the operators of `chosen`, and their selected slots without data, to
// OUTPUT/rank_N/operators.jsonl. Existing lines of other operators stay, in their order. Writes nothing
// for ranks without known operators. Errors: io.
Result<> write_operator_logs(const dump::Runs& runs, std::span<const std::uint32_t> chosen,
                             const std::string& wanted, const std::filesystem::path& output);

}  // namespace opdump::cli
