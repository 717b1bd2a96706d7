// Which operator of one dump is which of the other.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/operator_pair.h"
#include "compare/pairs/filtered.h"
#include "compare/pairs/frame/frame.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

struct Pairing {
  std::vector<OperatorPair> pairs;           // golden's order; an extra one follows what ran before it
  std::vector<std::string> notes;            // see Comparison::notes
  std::vector<std::string> incomplete = {};  // see Comparison::incomplete
  bool has_reshaped = false;                 // operators of one name are no pair, because their shapes differ
};

// Pairs runs of the same (rank, graph, step). Where one side has more operators of a type in a scope, these
// pair by shapes, neighbours, source lines and what their tensors begin with, in order, and a note says so.
// Others pair first by equal names (as layouts spell them; of what is left, in whatever graph), then, of what
// is left, by equal scope, type and slot shapes. An operator that an engine made of others bears the name of
// the last of them. Several of the same kind pair in order. A rank, graph or step that is the only one on
// each side need not be equal: a note says so. So does one where each dump is a single tensor. What ran after
// the last step is paired where both dumps have it after the same step; what one run has beyond the last of
// these is left out, and Pairing::incomplete says so. If one side is a log of DebugMode, operators whose
// names differ pair by type and path of modules, in order. Both arguments are in the order of DumpSet::runs.
// Other shapes do not tell operators of one name apart where `are_shards`. What `filters` explain behind the
// last step is left out without a word.
Pairing pair_operators(const dump::Runs& golden, const dump::Runs& actual, const TailsOfBoth& tails = {},
                       bool are_shards = false, const FiltersOfBoth& filters = {});

// Where the two operators of a comparison are in their runs; kNone for one that there is not.
OperatorPair find_executions(const dump::Runs& golden, const dump::Runs& actual,
                             const OperatorComparison& op);

}  // namespace opdump::compare
