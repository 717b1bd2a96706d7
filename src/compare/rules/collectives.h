// What ranks do together: a collective moves the error of one rank to all others, so that on these its output
// differs and its inputs do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/comparison.h"
#include "compare/pairs/pairing.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

class Collectives {
 public:
  using Make = std::function<OperatorComparison(const OperatorPair& pair)>;
  // The pairs are those of the comparison. `make` gives one with slots, and measures nothing.
  Collectives(const dump::Runs& golden, const std::vector<OperatorPair>& pairs, Make make)
      : golden_(golden), pairs_(pairs), make_(std::move(make)) {}

  // Sets op.other_rank if `op`, which is measured, is a collective with an output that differs, none of its
  // inputs does, and those of the same one on another rank do. Reads these.
  void look_at(OperatorComparison& op, const CompareOptions& options);

 private:
  using Key = std::pair<std::int64_t, std::string>;  // step, name
  void find();

  const dump::Runs& golden_;
  const std::vector<OperatorPair>& pairs_;
  Make make_;
  bool is_found_ = false;
  std::map<Key, std::vector<std::size_t>> places_;  // in pairs_, by what they have in common on all ranks
};

}  // namespace opdump::compare
