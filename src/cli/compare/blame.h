// The options and the end of `opdump blame`, which `opdump compare --blame` shares.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "blame/blame.h"
#include "cli/compare/replay.h"
#include "result/writer.h"

namespace opdump::cli {

struct BlameArguments {
  std::string python, limits;
  std::uint64_t limit = 20'000;
};
void add_blame_options(CLI::App& app, BlameArguments& arguments);

struct BlameOutput {
  bool json = false, all = false;
  // Gets the comparison before the answer is printed; may be empty.
  std::function<Result<>(const compare::Comparison& comparison)> compared = {};
  // Gets the answer; may be empty.
  std::function<Result<>(const blame::BlameAnswer& answer)> answered = {};
};
// Finds the culprit. `options` are those of the comparison, which is handed to `compared`, if that is not
// empty. At most `limit` operators run again in `workers`, which are best prepared before the dumps are
// opened.
Result<blame::BlameAnswer> ask_blame(
    const dump::DumpSet& golden, const dump::DumpSet& actual, ReplayWorkers& workers, std::uint64_t limit,
    compare::CompareOptions options,
    const std::function<Result<>(const compare::Comparison& comparison)>& compared);

// Finds the culprit and prints the answer. Returns the exit status. The rest as above.
Result<int> print_blame(const dump::DumpSet& golden, const dump::DumpSet& actual, ReplayWorkers& workers,
                        std::uint64_t limit, compare::CompareOptions options, const BlameOutput& output);

// Keeps the answer in a result: its first line, the culprit, and the other culprits.
Result<> note_blame(result::ResultWriter& writer, const blame::BlameAnswer& answer);

}  // namespace opdump::cli
