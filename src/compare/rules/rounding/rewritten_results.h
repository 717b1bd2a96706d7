// What modules give that each run computes by operators of its own: the rounding in which they differ was
// made there, by no operator that both runs have.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "compare/comparison.h"
#include "compare/facts/rewritten.h"
#include "compare/operator_pair.h"
#include "dump/read/runs.h"

namespace opdump::compare {

class RewrittenResults {
 public:
  RewrittenResults() = default;
  // All of them must stay.
  RewrittenResults(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs)
      : golden_runs_(&golden), actual_runs_(&actual), pairs_(pairs) {}

  // Whether an input is what such a module gave in both runs, and equal but for a few roundoffs. The first
  // one that may be reads what only one run has in such modules.
  bool contain(const SlotComparison& slot);

 private:
  void read();
  const dump::Runs *golden_runs_ = nullptr, *actual_runs_ = nullptr;  // golden's is null once they are read
  std::span<const OperatorPair> pairs_;
  // By number of elements and what is in them, in any order.
  using Results = std::map<std::pair<std::uint64_t, std::uint64_t>, std::set<RewrittenModules::Place>>;
  Results golden_, actual_;
};

}  // namespace opdump::compare
