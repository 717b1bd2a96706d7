// Which operator, or which data, is to blame where dumps have no tensors of inputs, so that hardly anything
// can run again: only outputs, or only statistics. What it finds is a suspect.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "blame/answer.h"
#include "blame/request.h"
#include "compare/comparison.h"
#include "compare/rules/gains/gains.h"

namespace opdump::blame {

class GainSearch {
 public:
  // `are_alike`: the runs may be the same to the last bit.
  explicit GainSearch(bool are_alike) : are_alike_(are_alike) {}

  // Takes all operators of a comparison, in golden's order of execution. `place` is the one that the operator
  // has among those to look at, if it gets one. Returns whether it should: it enlarges what differs.
  bool add(const compare::OperatorComparison& op, std::uint32_t place);

  // No operator has tensors of inputs.
  bool applies() const { return !has_inputs_; }

  struct Found {
    std::uint32_t place = 0;
    Cause cause = Cause::unknown;
    std::string slot, why;
  };
  // Whether the operator at `i`, what it reads, or what only one run executes just before it, is to blame.
  // Operators without a difference follow those at `before_equal`. Errors: those of `replay`, which knows the
  // limits.
  Result<std::optional<Found>> look(std::span<const compare::OperatorComparison> ops, std::uint32_t i,
                                    const std::set<std::uint32_t>& before_equal, const Replay& replay);

 private:
  const bool are_alike_;
  bool has_inputs_ = false;
  std::optional<std::uint32_t> first_;  // that differs
  compare::GainMeter meter_;
  std::map<std::uint32_t, std::vector<compare::Gain>> gains_;  // by place: those that may be beyond a limit
  std::optional<compare::GainTable> limits_;                   // once they are needed
};

}  // namespace opdump::blame
