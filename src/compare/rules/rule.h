// How a comparison reasons: every conclusion is that of a rule with a name, and rules() has them in the order
// in which they decide. One file a rule; CONTRIBUTING.md tells how to add one.
//
// A rule sees the pairs of operators one after the other, in golden's order of execution, each when its
// tensors are measured (look). When all have been seen, it may say what they mean together (settle), and what
// else a user should know (remark). Each of the three runs over all rules in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "compare/comparison.h"
#include "compare/facts/systematic.h"
#include "compare/facts/unfinished.h"
#include "compare/operator_pair.h"
#include "compare/pairs/make_operator.h"
#include "compare/rules/ledger.h"
#include "compare/wiring/wiring.h"
#include "dump/read/dump_set.h"

namespace opdump::compare {

enum class Stage : std::uint8_t {
  leave_out,       // a tensor says nothing; after this stage the operator has a verdict by its tensors
  cause,           // an argument explains the outputs
  excuse,          // the outputs differ by no more than rounding
  explain,         // why outputs differ that nothing excuses
  same_otherwise,  // the runs compute the same by other operators
  accuse,          // which operator is the first bad one
  remark,          // what else the user should know
};
inline constexpr std::string_view kStageNames[] = {"leave out",      "cause",  "excuse", "explain",
                                                   "same otherwise", "accuse", "remark"};

// What rules know of the two runs.
struct Study {
  const dump::DumpSet *golden = nullptr, *actual = nullptr;         // null in tests of single operators
  const Wiring *golden_wiring = nullptr, *actual_wiring = nullptr;  // of the dumps, if there are any
  std::span<const OperatorPair> pairs = {};
  RunRelation relation = {};
  const CompareOptions* options = nullptr;
  Unfinished unfinished = {};
  SystematicDifferences systematic = {};
  bool has_other_environment = false;
  bool by_gains = false;  // the dumps lack what operators read: differences are judged by how much they grow

  bool has_dumps() const { return golden != nullptr; }
  // Dumps of the same operators, rank by rank.
  bool is_plain() const { return has_dumps() && !relation.is_across && relation.sharded == nullptr; }
  // Whether the user has not switched a rule off.
  bool has_rule(std::string_view name) const {
    return options == nullptr || !options->without.contains(name);
  }
};

// What a rule remembers of one comparison.
class RuleState {
 public:
  RuleState() = default;
  RuleState(const RuleState&) = delete;
  RuleState& operator=(const RuleState&) = delete;
  virtual ~RuleState() = default;

  // Looks at a pair, and may change its verdict, its cause and those of its slots. Returns whether it did.
  virtual bool look(OperatorComparison&, Ledger&) { return false; }
  virtual void settle(Ledger&) {}
  virtual void remark(Ledger&) {}
};

struct Rule {
  std::string_view name;      // "other-argument": for --without, --json and messages
  std::string_view sentence;  // for `opdump rules` and docs/compare.md
  Stage stage = Stage::remark;
  bool (*applies)(const Study&) = nullptr;  // null: always
  // The rule must outlive the state, and does: rules are constants. Null: it is a part of the rule before it,
  // which asks Study::has_rule.
  std::unique_ptr<RuleState> (*begin)(const Rule&, const Study&) = nullptr;
};

// Rule::begin of a rule whose state is a `State`, made of the rule, the study, both or nothing.
template <typename State>
std::unique_ptr<RuleState> begin_state(const Rule& rule, const Study& study) {
  if constexpr (std::is_constructible_v<State, const Rule&, const Study&>)
    return std::make_unique<State>(rule, study);
  else if constexpr (std::is_constructible_v<State, const Study&>)
    return std::make_unique<State>(study);
  else if constexpr (std::is_constructible_v<State, const Rule&>)
    return std::make_unique<State>(rule);
  else
    return std::make_unique<State>();
}

// Lists the rules in the order in which they decide.
std::span<const Rule* const> rules();

// The rule of that name; null if there is none.
const Rule* find_rule(std::string_view name);

}  // namespace opdump::compare
