// Which operators a user means by --op TEXT and --step N.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dump/dump_set.h"

namespace opdump::cli {

struct RunFilter {
  std::string op;  // empty: every operator
  std::optional<std::int64_t> step;
};

// The runs that `filter` means, in the order of the dump. TEXT is the first of these that means anything: a
// full or sanitised name; what follows a '/' in names; a part of names; a part of names in upper or lower
// case. Errors: not_found -- with the nearest names, or the steps that exist.
Result<std::vector<const dump::OperatorRun*>> select_runs(const dump::DumpSet& dump, const RunFilter& filter);

}  // namespace opdump::cli
