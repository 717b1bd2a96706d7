// The walk of rules over the pairs of operators.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "compare/rules/rule.h"

namespace opdump::compare {

class Walk {
 public:
  // The study must outlive this. Begins the rules that apply and that the user has not switched off.
  explicit Walk(const Study& study);

  // Gives an operator whose tensors are measured its verdict. `place`: in the pairs, ascending.
  void look(OperatorComparison& op, std::size_t place);

  // After the last operator.
  void settle();
  void remark();

  Ledger& ledger() { return ledger_; }

  // Everything of `comparison` but `incomplete` and the notes before, which must be filled in already.
  void conclude(Comparison& comparison) &&;

 private:
  struct Active {
    const Rule* rule;
    std::unique_ptr<RuleState> state;
  };
  using Trace = std::vector<TraceLine>;
  void look_with(std::size_t first, std::size_t last, OperatorComparison& op, Trace* trace);

  const Study& study_;
  Ledger ledger_;
  std::vector<Active> active_;
  std::size_t evidence_ = 0, settled_ = 0;  // the first rule behind leave_out, and behind explain
  std::optional<std::pair<std::size_t, Trace>> urgent_;  // of the most urgent operator: its place
  Trace trace_;
};

}  // namespace opdump::compare
