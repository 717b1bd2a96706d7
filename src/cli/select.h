// Selects operators by --op TEXT and --step N.
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

struct RunFilter {
  std::string op;  // empty: every operator
  std::optional<std::int64_t> step;
};
// The options --op and --step of a verb that works on many operators.
void add_filter(CLI::App& app, RunFilter& filter);

// The names of an operator that a user may enter.
struct OperatorName {
  std::string_view name;       // "Default/conv1-Conv2d/convolution-op0"
  std::string_view sanitised;  // as in file names
  bool is_full = true;         // false if `name` is also the sanitised one
};

// Which of `names` TEXT means: the first of these that means anything. A full or sanitised name; what follows
// a '/' in names; a part of names; a part of names in upper or lower case. Errors: not_found -- with the
// nearest names.
Result<Chosen> select_names(std::span<const OperatorName> names, const std::string& text);

// Selects from dump.runs() by `filter`, in order. Errors: as select_names; not_found -- with the existing
// steps.
Result<Chosen> select_runs(const dump::DumpSet& dump, const RunFilter& filter);

// Warns about each rank whose recording is unfinished or lost something.
void remark_unfinished(const dump::DumpSet& dump);

}  // namespace opdump::cli
