#include <string>
#include <utility>

#include "compare/facts/rewritten.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/dropouts.h"
#include "compare/rules/accuse/one_sided.h"
#include "compare/rules/accuse/single.h"

namespace opdump::compare {
namespace {

bool is_absent(const OperatorComparison& op) {
  return op.verdict == Verdict::missing || op.verdict == Verdict::extra;
}

bool are_together(const Accusation& a, const Accusation& b) {
  return RewrittenModules::are_together(a.op.run(), b.op.run());
}

// What follows a missing gradient differs, and is not to blame.
class MissingGradient : public RuleState {
 public:
  MissingGradient(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    if (ledger.first_bad() == nullptr) return;
    const auto place = find_one_sided_backward(study_);
    auto op = place ? make_single(study_, *place) : std::nullopt;
    if (!op) return;
    op->cause = explain_one_sided_backward(op->run(), op->golden != nullptr);
    op->rule = rule_.name;
    ledger.accuse({.rule = rule_.name,
                   .op = std::move(*op),
                   .place = *place,
                   .precedes =
                       [](const Accusation& self, const Accusation& standing) {
                         const Verdict verdict = standing.op.verdict;
                         const bool is_open = verdict == Verdict::inherited ||
                                              verdict == Verdict::input_differs || is_absent(standing.op);
                         return is_open && (standing.place >= self.place || are_together(standing, self));
                       },
                   .followers = "the missing gradient"});
  }

 private:
  const Rule& rule_;
  const Study& study_;
};

// The other run has another operator for it, which hides the argument.
class OtherDropoutState : public RuleState {
 public:
  OtherDropoutState(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    if (ledger.first_bad() == nullptr) return;
    auto dropout = find_other_dropout(study_.golden->runs(), study_.actual->runs(), study_.pairs);
    auto op = dropout ? make_single(study_, dropout->place) : std::nullopt;
    if (!op) return;
    op->cause = std::move(dropout->text);
    op->rule = rule_.name;
    ledger.accuse({.rule = rule_.name,
                   .op = std::move(*op),
                   .place = dropout->place,
                   .precedes =
                       [](const Accusation& self, const Accusation& standing) {
                         return standing.place >= self.place ||
                                (is_absent(standing.op) && are_together(standing, self));
                       },
                   .followers = "the other dropout"});
  }

 private:
  const Rule& rule_;
  const Study& study_;
};

bool is_plain(const Study& study) { return study.is_plain(); }

}  // namespace

const Rule kMissingGradient{
    .name = "missing-gradient",
    .sentence =
        "a backward pass that only one run has, of a module that both run, explains what "
        "follows: no gradient reaches it in the other run",
    .stage = Stage::accuse,
    .applies = is_plain,
    .begin = begin_state<MissingGradient>};
const Rule kOtherDropoutRule{
    .name = "other-dropout",
    .sentence = "a dropout with another p, for which each run has an operator of its own",
    .stage = Stage::accuse,
    .applies = is_plain,
    .begin = begin_state<OtherDropoutState>};

}  // namespace opdump::compare
