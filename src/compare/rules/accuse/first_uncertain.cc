#include <algorithm>
#include <optional>

#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "model/dtype.h"

namespace opdump::compare {
namespace {

bool shows_numbers(const OperatorComparison& op) {
  return op.golden != nullptr && op.actual != nullptr && is_fine(op.verdict) &&
         std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
           return side_of(slot) == model::Side::output && slot.metrics && model::is_floating(slot.dtype);
         });
}

class FirstUncertain : public RuleState {
 public:
  explicit FirstUncertain(const Rule& rule) : rule_(rule) {}

  bool look(OperatorComparison& op, Ledger& ledger) override {
    if (ledger.most_urgent() != nullptr) return false;
    if (op.verdict == Verdict::uncertain && !first_)
      first_ = Accusation{.rule = rule_.name, .op = op, .place = ledger.next_place()};
    else if (shows_numbers(op))
      first_.reset();
    return false;
  }

  void settle(Ledger& ledger) override {
    const Accusation* const standing = ledger.first_bad();
    if (standing == nullptr || standing->op.verdict != Verdict::inherited || !standing->op.cause.empty() ||
        !first_ || first_->place > standing->place || first_->op.run().step != standing->op.run().step)
      return;
    first_->op.cause = "perhaps another operator in each run, but the first of those before " +
                       one_line(operator_name(standing->op.run())) + " that differ";
    first_->op.rule = rule_.name;
    ledger.accuse(*first_);
  }

 private:
  const Rule& rule_;
  std::optional<Accusation> first_;  // since the last operator that both runs certainly have, and that agrees
};

}  // namespace

const Rule kFirstUncertain{.name = "first-uncertain",
                           .sentence =
                               "where the first operator that certainly is the same in both runs only hands "
                               "on a difference, the first "
                               "uncertain pair before it that differs is named",
                           .stage = Stage::accuse,
                           .applies = [](const Study& study) { return study.relation.is_across; },
                           .begin = begin_state<FirstUncertain>};

}  // namespace opdump::compare
