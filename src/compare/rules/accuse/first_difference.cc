#include <algorithm>
#include <string>
#include <utility>

#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/single.h"
#include "compare/rules/accuse/views.h"

namespace opdump::compare {
namespace {

class FirstDifference : public RuleState {
 public:
  explicit FirstDifference(const Rule& rule) : rule_(rule) {}

  void settle(Ledger& ledger) override {
    const Accusation* urgent = ledger.most_urgent();
    if (urgent == nullptr) return;
    Accusation first = *urgent;
    first.rule = rule_.name;
    ledger.accuse(std::move(first));
  }

 private:
  const Rule& rule_;
};

// A view moves no data, and no recording has it: only what reads it differs.
class OtherView : public RuleState {
 public:
  explicit OtherView(const Study& study) : study_(study) {}

  void remark(Ledger& ledger) override {
    const Accusation* first = ledger.first_bad();
    if (first == nullptr) return;
    const Verdict verdict = first->op.verdict;
    std::string view;
    const dump::Runs &golden = study_.golden->runs(), &actual = study_.actual->runs();
    if (verdict == Verdict::inherited) view = find_view_before(golden, actual, study_.pairs, first->place);
    if (view.empty() && may_be_explained(verdict))
      view = find_other_view(golden, actual, study_.pairs, first->op);
    ledger.standing()->view = std::move(view);
  }

 private:
  const Study& study_;
};

// Another machine or version may have a kernel that rounds so.
class SmallError : public RuleState {
 public:
  explicit SmallError(const Rule& rule) : rule_(rule) {}

  void remark(Ledger& ledger) override {
    constexpr double kSmall = 1e-4;
    const Accusation* first = ledger.first_bad();
    if (first == nullptr) return;
    const OperatorComparison& op = first->op;
    // A slot that cannot be measured, as one with another shape, is not small.
    const auto is_small = [](const SlotComparison& slot) {
      return is_fine(slot.verdict) || (slot.metrics && slot.metrics->relative_l2 < kSmall);
    };
    if (op.verdict == Verdict::own_error && op.cause.empty() && std::ranges::all_of(op.slots, is_small))
      ledger.note(
          rule_.name,
          "the first bad operator differs by little, and may only round otherwise: opdump blame runs it "
          "again");
  }

 private:
  const Rule& rule_;
};

}  // namespace

const Rule kFirstDifference{.name = "first-difference",
                            .sentence =
                                "the first operator with an output that differs, by step and order of "
                                "execution; else the first difference of another kind",
                            .stage = Stage::accuse,
                            .begin = begin_state<FirstDifference>};
const Rule kOtherView{
    .name = "other-view",
    .sentence = "a view with other arguments before an operator whose inputs differ is told with it",
    .stage = Stage::remark,
    .applies = [](const Study& study) { return study.is_plain(); },
    .begin = begin_state<OtherView>};
const Rule kSmallError{
    .name = "small-error",
    .sentence =
        "a first bad operator that differs by little between two environments may only round "
        "otherwise",
    .stage = Stage::remark,
    .applies = [](const Study& study) { return study.has_other_environment; },
    .begin = begin_state<SmallError>};

}  // namespace opdump::compare
