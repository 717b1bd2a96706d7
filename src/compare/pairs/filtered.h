// What the configuration of a dump leaves out, beside a dump that has it.
#pragma once

#include <string>
#include <vector>

#include "compare/operator_pair.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

// Holds what each dump was to have; a null filter leaves nothing out.
struct FiltersOfBoth {
  const dump::DumpFilter *golden = nullptr, *actual = nullptr;

  // Whether an operator has no partner because the other dump was not to have it.
  bool explain(const OperatorPair& pair, const dump::Runs& golden_runs, const dump::Runs& actual_runs) const;
};

// Marks the operators without a partner that the other dump was not to have, and says so in a note for each
// dump. Those that it was to have stay differences.
void mark_filtered(const dump::DumpSet& golden, const dump::DumpSet& actual, std::vector<OperatorPair>& pairs,
                   std::vector<std::string>& notes);

}  // namespace opdump::compare
