// Differences of whole runs: another precision, another batch, a module that one of them lacks. They explain
// many operators at once, so a user wants to hear of them first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compare/facts/unfinished.h"
#include "compare/operator_pair.h"
#include "dump/read/dump_set.h"
#include "model/dtype.h"

namespace opdump::compare {

struct SystematicDifferences {
  // How many paired operators have a first output of other types, by these types: of golden, of actual.
  std::map<std::pair<model::DType, model::DType>, std::uint64_t> types;
  // One run computes in other types than the other one throughout, not in one layer.
  bool are_types_usual = false;
  // "golden is float32 and actual bfloat16 in 1900 operators"
  // "batch 2 against 4: the first axis of 412 outputs"
  // "autocast is bfloat16 in actual only, in 214 operators"
  // "module Default/blocks/11-Block is absent in actual (14 operators)"
  std::vector<std::string> notes;
};

// `unfinished` names recordings in which an absent operator means nothing. Batches are noted only with
// `notes_batches`: ranks share one.
SystematicDifferences find_systematic(const dump::Runs& golden, const dump::Runs& actual,
                                      const std::vector<OperatorPair>& pairs, const Unfinished& unfinished,
                                      bool notes_batches = true);

}  // namespace opdump::compare
