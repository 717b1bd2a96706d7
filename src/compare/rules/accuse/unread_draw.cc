#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compare/facts/draws.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/measured.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// An order that a program draws and Python reads, as randperm(n).tolist() for a shuffle.
class UnreadDraw : public RuleState {
 public:
  UnreadDraw(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    Accusation* const standing = ledger.standing();
    if (standing == nullptr || !study_.pairs[standing->place].is_whole() ||
        (standing->op.verdict != Verdict::input_differs && standing->op.verdict != Verdict::inherited))
      return;
    auto drawn = find_draw(standing->place);
    if (!drawn) return;
    const dump::OperatorRun& run = drawn->op.run();
    const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
    if (reads_data(*standing)) {
      drawn->op.cause =
          "no operator reads it, but Python may: " + one_line(operator_name(standing->op.run())) +
          " reads other data in each run";
      drawn->op.rule = rule_.name;
      return ledger.accuse(std::move(*drawn));
    }
    std::string& cause = standing->op.cause;
    if (cause.empty()) standing->op.rule = rule_.name;
    cause += (cause.empty() ? "" : "; ") + one_line(operator_name(run)) +
             (source.empty() ? "" : " at " + source) +
             ", which no operator reads, draws other numbers before it, by which Python may choose";
  }

 private:
  // The last one before an operator. What is drawn into memory that was there is an initial value.
  std::optional<Accusation> find_draw(std::size_t before) const {
    for (std::size_t place = before; place-- > 0;) {
      const OperatorPair& pair = study_.pairs[place];
      if (!pair.is_whole()) continue;
      const std::string type = study_.golden->runs().without_slots(pair.golden).type;
      if (!model::has_trait(type, model::Trait::random) || type.ends_with('_') ||
          find_draws_for_nothing(*study_.golden_wiring, pair.golden).empty() ||
          find_draws_for_nothing(*study_.actual_wiring, pair.actual).empty())
        continue;
      OperatorComparison op = measured(study_, place);
      if (std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
            return side_of(slot) == model::Side::output && is_difference(slot.verdict);
          }))
        return Accusation{.rule = rule_.name, .op = std::move(op), .place = place};
    }
    return std::nullopt;
  }

  // Whether an operator of both runs reads other values that no operator made.
  bool reads_data(const Accusation& standing) const {
    return std::ranges::any_of(standing.op.slots, [&](const SlotComparison& slot) {
      return side_of(slot) == model::Side::input && is_difference(slot.verdict) && slot.golden != nullptr &&
             study_.golden_wiring->writers(study_.pairs[standing.place].golden, slot.golden->index)
                 .executions.empty();
    });
  }

  const Rule& rule_;
  const Study& study_;
};

}  // namespace

const Rule kUnreadDraw{.name = "unread-draw",
                       .sentence =
                           "where data differ that no operator made, or are chosen otherwise, random "
                           "numbers before them that no operator reads may say why",
                       .stage = Stage::accuse,
                       .applies =
                           [](const Study& study) {
                             return study.is_plain() && study.golden_wiring->is_recorded() &&
                                    study.actual_wiring->is_recorded();
                           },
                       .begin = begin_state<UnreadDraw>};

}  // namespace opdump::compare
