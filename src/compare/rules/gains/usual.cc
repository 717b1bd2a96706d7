#include "compare/rules/gains/usual.h"
#include "compare/facts/one_sided_operators.h"

#include <string>
#include <utility>

#include "base/text/text.h"
#include "compare/names.h"
#include "compare/rules/gains/gain_judge.h"

namespace opdump::compare {
namespace {

class UsualGains : public RuleState {
 public:
  UsualGains(const Rule& rule, const Study& study) : rule_(rule), judge_(!study.has_other_environment) {}

  bool look(OperatorComparison& op, Ledger& ledger) override {
    const Verdict before = op.verdict;
    judge_.judge(op);
    ledger.raise_noise(judge_.noise());
    if (op.cause.empty()) op.excess = judge_.excess();
    if (op.verdict == before) return false;
    op.rule = rule_.name;
    return true;
  }

  void settle(Ledger& ledger) override {
    for (const std::uint64_t elements : judge_.uncertain()) ledger.add_uncertain(elements);
  }

  void remark(Ledger& ledger) override {
    if (const auto count = judge_.rounding_count(); count > 0)
      ledger.note(rule_.name, "the dumps lack what operators read: " + counted(count, "operator", "differ") +
                                  " by no more than is usual without a fault");
    const Accusation* first = ledger.first_bad();
    if (first != nullptr && !first->op.excess.empty())
      ledger.note(rule_.name, "in " + one_line(operator_name(first->op.run())) + ", " + first->op.excess);
  }

 private:
  const Rule& rule_;
  GainJudge judge_;
};

class SingleBeforeGrowth : public RuleState {
 public:
  explicit SingleBeforeGrowth(const Rule& rule) : rule_(rule) {}

  void settle(Ledger& ledger) override {
    const Accusation* first = ledger.first_bad();
    if (first == nullptr || first->single == nullptr || !first->op.cause.empty()) return;
    Accusation single = *first->single;
    single.rule = single.op.rule = rule_.name;
    single.op.cause = only_in(single.op.golden != nullptr ? "golden" : "actual", single.op.run()) +
                      ", and what follows differs";
    ledger.accuse(std::move(single));
  }

 private:
  const Rule& rule_;
};

}  // namespace

const Rule kUsualGains{
    .name = "usual-gains",
    .sentence =
        "where the dumps lack what operators read, differences that grow no more than they "
        "do without a fault are rounding",
    .stage = Stage::excuse,
    .applies = [](const Study& study) { return study.by_gains; },
    .begin = begin_state<UsualGains>};
const Rule kSingleBeforeGrowth{.name = "single-before-growth",
                               .sentence =
                                   "an operator that only one run has explains that differences grow just "
                                   "behind it",
                               .stage = Stage::accuse,
                               .applies = [](const Study& study) { return study.by_gains; },
                               .begin = begin_state<SingleBeforeGrowth>};

}  // namespace opdump::compare
