// Selects operators: the options that ls, show, compare and convert share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "dump/read/dump_set.h"

namespace opdump::cli {

using Chosen = std::vector<std::uint32_t>;  // in a list

// Empty texts select everything.
struct RunFilter {
  std::string op, module, type, phase;
  std::optional<std::int64_t> step;
  std::optional<std::uint32_t> rank;
  std::optional<std::size_t> limit;  // executions, or rows of a table
  std::string sort = "execution";
};
// The options of a verb that works on many operators: --op --module --type --step --rank --phase --limit and
// --sort, which knows `orders`. `shows_op` is false where the verb declares --op itself.
void add_filter(CLI::App& app, RunFilter& filter, const std::vector<std::string>& orders,
                bool shows_op = true);
// The orders that select_runs knows.
inline const std::vector<std::string> kRunOrders{"execution", "name", "size"};

// Whether `filter` selects `run` by all but --op.
bool selects(const RunFilter& filter, const dump::OperatorRun& run);

// The options that select: "--step 3 --phase forward"; empty if nothing is left out.
std::string describe_filter(const RunFilter& filter);

// The names of an operator that a user may enter.
struct OperatorName {
  std::string_view name;       // "Default/conv1-Conv2d/convolution-op0"
  std::string_view sanitised;  // as in file names
  bool is_full = true;         // false if `name` is also the sanitised one
};

// Selects from `names` by TEXT. The first rule with a match applies: TEXT is a full or sanitised name; it
// follows a '/' in names; it is a part of names; it is a part of names in upper or lower case.
// Errors: not_found -- with the nearest names.
Result<Chosen> select_names(std::span<const OperatorName> names, const std::string& text);

// Selects from dump.runs() by `filter`, in its order: that of execution, names (in which numbers count as
// numbers), or the largest first. Errors: as select_names; not_found -- with the existing steps, ranks, types
// or phases.
Result<Chosen> select_runs(const dump::DumpSet& dump, const RunFilter& filter);

// Warns about each rank whose recording is unfinished or lost something.
void remark_unfinished(const dump::DumpSet& dump);

}  // namespace opdump::cli
