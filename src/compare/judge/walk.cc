#include "compare/judge/walk.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compare/measure/sharded/measure_shards.h"
#include "compare/names.h"
#include "compare/rules/evidence.h"

namespace opdump::compare {
namespace {

// "rounding", "own_error: eps is 1e-05 in golden and 0.001 in actual".
std::string describe(const OperatorComparison& op) {
  return std::string(verdict_name(op.verdict)) + (op.cause.empty() ? "" : ": " + op.cause);
}

std::string describe(const Accusation& accusation) {
  return one_line(operator_name(accusation.op.run())) + " (" + describe(accusation.op) + ")";
}

}  // namespace

Walk::Walk(const Study& study) : study_(study), ledger_(study.unfinished, study.by_gains) {
  if (study.golden_wiring != nullptr && study.actual_wiring != nullptr && study.relation.sharded == nullptr)
    ledger_.follow(std::make_unique<ErrorBounds>(*study.golden_wiring, *study.actual_wiring, study.pairs));
  const bool is_bitwise = study.options != nullptr && study.options->is_bitwise;
  for (const Rule* rule : rules())
    if (rule->begin != nullptr && !(is_bitwise && rule->stage == Stage::excuse) &&
        study.has_rule(rule->name) && (rule->applies == nullptr || rule->applies(study)))
      active_.push_back({rule, rule->begin(*rule, study)});
  const auto stage_of = [](const Active& active) { return active.rule->stage; };
  const auto first_behind = [&](Stage stage) {
    return static_cast<std::size_t>(std::ranges::upper_bound(active_, stage, {}, stage_of) - active_.begin());
  };
  evidence_ = first_behind(Stage::leave_out);
  settled_ = first_behind(Stage::explain);
}

void Walk::look_with(std::size_t first, std::size_t last, OperatorComparison& op, Trace* trace) {
  for (std::size_t i = first; i < last; ++i) {
    const bool has_changed = active_[i].state->look(op, ledger_);
    const bool has_cause = active_[i].rule->stage == Stage::cause || active_[i].rule->stage == Stage::explain;
    if (has_changed && has_cause) op.rule = active_[i].rule->name;
    if (trace != nullptr)
      trace->push_back({has_changed && !op.rule.empty() ? op.rule : active_[i].rule->name,
                        has_changed ? describe(op) : std::string()});
  }
}

void Walk::look(OperatorComparison& op, std::size_t place) {
  const bool explains = study_.options != nullptr && study_.options->explain;
  Trace trace, *const wanted = explains ? &trace : nullptr;
  ledger_.set_next_place(place);
  look_with(0, evidence_, op, nullptr);
  if (explains)
    for (const SlotComparison& slot : op.slots)
      if (!slot.rule.empty()) trace.push_back({slot.rule, slot_name(slot) + " " + slot.reason});
  judge_by_evidence(op);
  name_ranks(op);
  if (explains) trace.push_back({"evidence", describe(op)});
  look_with(evidence_, settled_, op, wanted);
  op.may_be_unseen = (op.verdict == Verdict::missing && study_.unfinished.excuses_actual(*op.golden)) ||
                     (op.verdict == Verdict::extra && study_.unfinished.excuses_golden(*op.actual));
  const bool is_urgent = ledger_.add(op, place);
  if (is_urgent && explains) urgent_.emplace(place, std::move(trace));
  look_with(settled_, active_.size(), op, nullptr);
}

void Walk::settle() {
  for (const Active& active : active_) {
    const std::size_t before = ledger_.accusations().size();
    active.state->settle(ledger_);
    if (study_.options == nullptr || !study_.options->explain || active.rule->stage < Stage::same_otherwise)
      continue;
    const auto accusations = ledger_.accusations();
    trace_.push_back(
        {active.rule->name, accusations.size() > before ? "accuses " + describe(accusations.back()) : ""});
  }
}

void Walk::remark() {
  for (const Active& active : active_) active.state->remark(ledger_);
}

void Walk::conclude(Comparison& comparison) && {
  const Accusation* first = ledger_.first_bad();
  if (first != nullptr && urgent_ && urgent_->first == first->place)
    comparison.trace = std::move(urgent_->second);
  std::ranges::move(trace_, std::back_inserter(comparison.trace));
  std::move(ledger_).conclude(comparison);
}

}  // namespace opdump::compare
