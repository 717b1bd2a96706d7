#include <string>
#include <utility>

#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/origin.h"

namespace opdump::compare {
namespace {

class FoldedOperator : public RuleState {
 public:
  FoldedOperator(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const Accusation* standing = ledger.first_bad();
    if (standing == nullptr || standing->op.verdict != Verdict::inherited || !standing->op.cause.empty())
      return;
    const InputOrigin folded =
        find_folded_operator(standing->op, *study_.golden_wiring, *study_.actual_wiring, study_.pairs);
    if (!folded.single) return;
    OperatorComparison op =
        make_operator(study_.pairs[*folded.single], *study_.golden, *study_.actual, study_.relation);
    op.left_out.clear();
    op.verdict = op.golden != nullptr ? Verdict::missing : Verdict::extra;
    op.cause = std::string("only in ") + (op.golden != nullptr ? "golden" : "actual") + ", where " +
               one_line(operator_name(standing->op.run())) + " reads it: a constant in " +
               (op.golden != nullptr ? "actual" : "golden");
    if (!folded.text.empty()) op.cause += "; " + folded.text;
    op.rule = rule_.name;
    ledger.accuse({.rule = rule_.name, .op = std::move(op), .place = *folded.single});
  }

 private:
  const Rule& rule_;
  const Study& study_;
};

}  // namespace

const Rule kFoldedOperator{
    .name = "folded-operator",
    .sentence =
        "what a framework computes when it compiles a graph is a constant there, and an operator in another "
        "framework: where that operator makes what differs, it is the first bad one",
    .stage = Stage::accuse,
    .applies = [](const Study& study) { return study.has_dumps() && study.relation.is_across; },
    .begin = begin_state<FoldedOperator>};

}  // namespace opdump::compare
