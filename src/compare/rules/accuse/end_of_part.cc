#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compare/facts/rewritten.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/single.h"
#include "compare/rules/measured.h"
#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

// Whether a tensor has golden's elements in another order, as one whose rows are sorted.
bool is_reordered(const SlotComparison& slot) {
  if (slot.golden == nullptr || slot.actual == nullptr) return false;
  const auto print = fingerprint_of(*slot.golden);
  return print && print == fingerprint_of(*slot.actual);
}

class EndOfPart : public RuleState {
 public:
  EndOfPart(const Rule& rule, const Study& study) : rule_(rule), study_(study) {
    for (const OperatorPair& pair : study.pairs) {
      if (pair.is_alone || (pair.is_whole() && pair.paired_by != PairedBy::alignment)) continue;
      if (pair.golden != OperatorPair::kNone) add_place(study.golden->runs(), pair.golden);
      if (pair.actual != OperatorPair::kNone) add_place(study.actual->runs(), pair.actual);
    }
  }

  bool look(OperatorComparison& op, Ledger& ledger) override {
    if (reader_ || op.verdict != Verdict::inherited || op.is_alone || op.run().op == nullptr ||
        op.run().op->phase != model::Phase::forward ||
        own_ways_.contains(RewrittenModules::place_of(op.run())) ||
        std::ranges::any_of(op.slots, has_other_shape))
      return false;
    const auto input = std::ranges::find_if(op.slots, [](const SlotComparison& slot) {
      return side_of(slot) == model::Side::input && slot.metrics && slot.verdict == Verdict::input_differs;
    });
    if (input == op.slots.end() || is_reordered(*input)) return false;
    reader_ = Accusation{.rule = rule_.name, .op = op, .place = ledger.next_place()};
    golden_ = study_.golden_wiring->maker(study_.pairs[reader_->place].golden, *input->golden);
    actual_ = study_.actual_wiring->maker(study_.pairs[reader_->place].actual, *input->actual);
    return false;
  }

  void settle(Ledger& ledger) override {
    const Accusation* const standing = ledger.first_bad();
    if (standing == nullptr || !reader_ || reader_->place <= standing->place ||
        reader_->op.run().step != standing->op.run().step || !need_not_agree(standing->op))
      return;
    const auto maker = std::ranges::find_if(study_.pairs, [&](const OperatorPair& pair) {
      return pair.is_whole() && pair.golden == golden_ && pair.actual == actual_;
    });
    if (maker == study_.pairs.end()) return ledger.accuse(*reader_);
    const auto place = static_cast<std::size_t>(maker - study_.pairs.begin());
    OperatorComparison op = measured(study_, place);
    if (!may_be_explained(op.verdict)) return ledger.accuse(*reader_);
    op.cause = one_line(operator_name(reader_->op.run())) +
               " reads it, the first one behind a part that each run computes in its own way";
    op.rule = rule_.name;
    ledger.accuse({.rule = rule_.name, .op = std::move(op), .place = place});
  }

 private:
  void add_place(const dump::Runs& runs, std::uint32_t execution) {
    own_ways_.insert(RewrittenModules::place_of(runs.without_slots(execution)));
  }

  // Whether two operators may differ, and all may be right: they read rows in another order or number.
  static bool need_not_agree(const OperatorComparison& op) {
    if (!may_be_explained(op.verdict) || !op.cause.empty()) return false;
    return op.paired_by == PairedBy::alignment ||
           std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
             return side_of(slot) == model::Side::input && !is_fine(slot.verdict) &&
                    (has_other_shape(slot) || is_reordered(slot));
           });
  }

  const Rule& rule_;
  const Study& study_;
  std::set<RewrittenModules::Place> own_ways_;  // modules in which one run has operators of its own
  std::optional<Accusation>
      reader_;  // the first operator, in another module, that differs because its input does
  std::optional<std::size_t> golden_, actual_;  // who made that input
};

}  // namespace

const Rule kEndOfPart{.name = "end-of-part",
                      .sentence =
                          "where the first operator that differs reads rows in another order or number, it "
                          "need not agree: what "
                          "made the first tensor that a module gets which both runs compute alike is named",
                      .stage = Stage::accuse,
                      .applies = [](const Study& study) { return study.is_plain() && !study.by_gains; },
                      .begin = begin_state<EndOfPart>};

}  // namespace opdump::compare
