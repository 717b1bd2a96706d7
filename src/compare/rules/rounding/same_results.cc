#include "compare/rules/rounding/rounding.h"

namespace opdump::compare {
namespace {

class SameResults : public RuleState {
 public:
  explicit SameResults(const Rule& rule) : rule_(rule) {}

  bool look(OperatorComparison& op, Ledger&) override {
    if (op.fusion != Fusion::result || !has_bad_output(op.verdict)) return false;
    op.verdict = Verdict::rounding;
    op.rule = rule_.name;
    for (SlotComparison& slot : op.slots) {
      if (!is_difference(slot.verdict)) continue;
      slot.verdict = Verdict::rounding;
      slot.rule = rule_.name;
    }
    return true;
  }

 private:
  const Rule& rule_;
};

}  // namespace

const Rule kSameResults{
    .name = "same-results",
    .sentence = "operators of two programs that are paired because they make the same differ by rounding",
    .stage = Stage::excuse,
    .applies = [](const Study& study) { return study.relation.is_across; },
    .begin = begin_state<SameResults>};

}  // namespace opdump::compare
