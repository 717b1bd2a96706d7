#include <string>
#include <utility>
#include <vector>

#include "compare/facts/one_sided_operators.h"
#include "compare/facts/operator_kind.h"
#include "compare/facts/rewritten.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/origin.h"
#include "compare/rules/accuse/single.h"

namespace opdump::compare {

std::optional<OperatorComparison> make_single(const Study& study, std::size_t place) {
  OperatorComparison op = make_operator(study.pairs[place], *study.golden, *study.actual, study.relation);
  const bool is_golden = op.golden != nullptr;
  if (op.lacks_slots || !op.left_out.empty() ||
      (is_golden ? study.unfinished.excuses_actual(op.run()) : study.unfinished.excuses_golden(op.run())))
    return std::nullopt;
  op.verdict = is_golden ? Verdict::missing : Verdict::extra;
  return op;
}

namespace {

constexpr std::size_t kMostReaders = 8;  // in which the cause of another size is looked for

Accusation accuse_single(const Rule& rule, OperatorComparison single, std::size_t place,
                         const dump::OperatorRun& reader) {
  single.cause = only_in(single.golden != nullptr ? "golden" : "actual", single.run()) + ", and " +
                 one_line(operator_name(reader)) + ", which reads what it makes, differs";
  single.rule = rule.name;
  return {.rule = rule.name, .op = std::move(single), .place = place};
}

// An operator that makes numbers, as arange and full do, of another size in each run.
bool makes_other_size(const OperatorComparison& op) {
  return op.verdict == Verdict::argument_differs && kind_of(op.run().type).role == OperatorRole::makes &&
         std::ranges::any_of(op.slots, has_other_shape);
}

// Sizes that a program takes from a tensor are numbers to the operators that get them: where a tensor of one
// run is longer, as one that is padded, arange is called with another end.
class OtherSize : public RuleState {
 public:
  OtherSize(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  bool look(OperatorComparison& op, Ledger& ledger) override {
    const Accusation* maker = ledger.most_urgent();
    const bool is_paired = op.golden != nullptr && op.actual != nullptr;
    if (maker == nullptr || !is_paired || op.verdict != Verdict::inherited || op.is_alone ||
        maker->op.run().step != op.run().step || maker->op.golden == op.golden ||
        readers_.size() == kMostReaders || !makes_other_size(maker->op))
      return false;
    readers_.push_back(op);
    return false;
  }

  void settle(Ledger& ledger) override {
    const Accusation* standing = ledger.first_bad();
    if (standing == nullptr) return;
    for (const OperatorComparison& reader : readers_) {
      const InputOrigin origin =
          find_input_origin(reader, *study_.golden_wiring, *study_.actual_wiring, study_.pairs);
      auto single = origin.single && *origin.single < standing->place ? make_single(study_, *origin.single)
                                                                      : std::nullopt;
      if (!single) continue;
      return ledger.accuse(accuse_single(rule_, std::move(*single), *origin.single, reader.run()));
    }
  }

 private:
  const Rule& rule_;
  const Study& study_;
  std::vector<OperatorComparison> readers_;  // the first ones behind what makes another size
};

class InputOriginState : public RuleState {
 public:
  InputOriginState(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const Accusation* standing = ledger.first_bad();
    if (standing == nullptr) return;
    const OperatorComparison& op = standing->op;
    if (!may_be_explained(op.verdict) || !op.cause.empty()) return;
    if (study_.relation.is_across) return explain(ledger, explain_numbers(op));
    const dump::Runs &golden = study_.golden->runs(), &actual = study_.actual->runs();
    InputOrigin origin = find_input_origin(op, *study_.golden_wiring, *study_.actual_wiring, study_.pairs);
    auto single = origin.single ? make_single(study_, *origin.single) : std::nullopt;
    if (!single) return explain(ledger, std::move(origin.text));
    Accusation accusation = accuse_single(rule_, std::move(*single), *origin.single, op.run());
    // In a module that each run computes by operators of its own, it may be right.
    if (!origin.is_narrowed && find_rewritten(golden, actual, study_.pairs).contains(op.run())) {
      accusation.precedes = [](const Accusation&, const Accusation&) { return false; };
      explain(ledger, std::move(origin.text));
    }
    ledger.accuse(std::move(accusation));
  }

 private:
  void explain(Ledger& ledger, std::string text) const {
    if (text.empty()) return;
    OperatorComparison& op = ledger.standing()->op;
    op.cause = std::move(text);
    op.rule = rule_.name;
  }

  const Rule& rule_;
  const Study& study_;
};

}  // namespace

const Rule kOtherSize{
    .name = "other-size",
    .sentence =
        "where an operator makes numbers of another size, what only one run has before it, and "
        "what follows reads, explains the size",
    .stage = Stage::accuse,
    .applies = [](const Study& study) { return study.is_plain(); },
    .begin = begin_state<OtherSize>};
const Rule kInputOrigin{
    .name = "input-origin",
    .sentence =
        "where the inputs of the first bad operator come from: an operator that only one run "
        "has, another part of a tensor, memory that was changed, a number of the program",
    .stage = Stage::accuse,
    .applies = [](const Study& study) { return study.has_dumps() && study.relation.sharded == nullptr; },
    .begin = begin_state<InputOriginState>};

}  // namespace opdump::compare
