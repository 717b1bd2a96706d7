#include "blame/sequence.h"

#include <algorithm>
#include <optional>
#include <string>

#include "blame/differences.h"
#include "blame/inputs/origin.h"
#include "compare/facts/one_sided_operators.h"
#include "compare/facts/operator_kind.h"
#include "compare/facts/rewritten.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/ledger.h"
#include "model/operator_traits.h"

namespace opdump::blame {

using compare::OperatorComparison;

namespace {

// The first of operators that only one run has, where what follows them at once differs beyond rounding, of
// those that compute something if there are any: a view or memory that is filled later is not at fault
// itself. Where it does not, or not at once, they are another way to compute the same; in rewritten modules,
// what follows the module counts, if anything does. An operator of both runs that reads what others made
// counts as one of one run.
std::optional<std::uint32_t> find_first(const Suspects& suspects, const InputSearch& inputs) {
  std::optional<std::uint32_t> first;      // since the last operator of both runs that differs
  std::optional<std::uint32_t> nearest;    // since the last one of both runs
  std::optional<std::uint32_t> candidate;  // of a rewritten module
  bool first_computes = false, nearest_computes = false;
  for (std::uint32_t i = 0; i < suspects.size(); ++i) {
    if (i > 0 && suspects.before_equal().contains(i - 1)) nearest.reset(), candidate.reset();
    if (!is_paired(suspects[i]) || inputs.rewired().contains(i)) {
      if (!is_paired(suspects[i]) && !is_certainly_single(suspects[i])) continue;
      if (model::has_trait(suspects[i].run().type, model::Trait::casts)) continue;
      const bool computes = compare::kind_of(suspects[i].run().type).role == compare::OperatorRole::computes;
      if (!first || (computes && !first_computes)) first = i, first_computes = computes;
      if (!nearest || (computes && !nearest_computes)) nearest = i, nearest_computes = computes;
      continue;
    }
    if (distance_of(suspects[i]) == 0) continue;
    if (!makes_beyond_rounding(suspects[i]) || compare::is_fine(suspects[i].verdict)) {
      first.reset(), nearest.reset(), candidate.reset();
      continue;
    }
    if (!candidate) candidate = nearest ? nearest : inputs.feeder() ? inputs.feeder() : first;
    if (!suspects.rewritten().contains(*suspects[i].golden)) return candidate;
  }
  const bool ends_equal = suspects.before_equal().contains(suspects.size() - 1);
  return candidate && !ends_equal ? candidate : inputs.feeder();
}

bool makes_view(const OperatorComparison& op) {
  return std::ranges::any_of(op.slots, [](const compare::SlotComparison& slot) {
    return side_of(slot) == model::Side::output &&
           (slot.golden != nullptr ? slot.golden : slot.actual)->undumped_reason == "view";
  });
}

std::string only_in(const OperatorComparison& op) {
  return compare::only_in(op.golden != nullptr ? "golden" : "actual", op.run());
}

// ", where golden has bernoulli_": what the other run has instead of an operator that only one run has, in
// one module with it, and with no operator of both runs in between.
std::string instead_of(const Suspects& suspects, std::uint32_t single) {
  const dump::OperatorRun& run = suspects[single].run();
  if (model::has_trait(run.type, model::Trait::region)) return {};  // of all that is in it
  const bool is_golden = suspects[single].golden != nullptr,
             is_random = model::has_trait(run.type, model::Trait::random);
  for (std::uint32_t i = single; i < suspects.size() && !is_paired(suspects[i]); ++i) {
    const dump::OperatorRun& other = suspects[i].run();
    if ((suspects[i].golden != nullptr) != is_golden && compare::RewrittenModules::are_together(other, run) &&
        (!is_random || model::has_trait(other.type, model::Trait::random)))
      return std::string(", where ") + (is_golden ? "actual" : "golden") + " has " +
             compare::one_line(other.type);
    if (suspects.before_equal().contains(i)) break;
  }
  return {};
}

// Whether an operator forward behind a suspect that differs beyond rounding does so, too.
bool goes_on_behind(const Suspects& suspects, std::uint32_t place) {
  const auto differs_forward = [](const OperatorComparison& op) {
    return is_paired(op) && compare::phase_of(op.run()) == model::Phase::forward &&
           !compare::is_fine(op.verdict) && makes_beyond_rounding(op);
  };
  return is_paired(suspects[place]) && makes_beyond_rounding(suspects[place]) &&
         std::ranges::any_of(suspects.all().subspan(place + 1), differs_forward);
}

// Whether no module that each run computes in its own way explains that only one run has it. Random numbers
// are no way to compute something, and a compiled region is the whole of what it computes.
bool matters(const Suspects& suspects, std::uint32_t single) {
  const dump::OperatorRun& run = suspects[single].run();
  return !suspects.rewritten().contains(run) || model::has_trait(run.type, model::Trait::region) ||
         std::ranges::any_of(suspects.all(), [&](const OperatorComparison& op) {
           return !is_paired(op) && model::has_trait(op.run().type, model::Trait::random) &&
                  compare::RewrittenModules::are_together(op.run(), run);
         });
}

// An operator of an optimizer that actual lacks, if it updates weights itself.
bool is_other_update(const Finding& finding) {
  return compare::phase_of(finding.op.run()) == model::Phase::optimizer && finding.cause == Cause::sequence &&
         finding.confidence == Confidence::suspect;
}

// Whether all that was found may follow from an operator before it: what autograd makes of another one in
// backward passes, other inputs and arguments, or weights that are updated in another way.
bool may_follow(const FindingLog& findings) {
  return !findings.all().empty() && std::ranges::all_of(findings.all(), [](const Finding& finding) {
    return !finding.error && finding.cause != Cause::unknown &&
           (compare::phase_of(finding.op.run()) == model::Phase::backward || is_other_update(finding));
  });
}

// The place before which an operator explains all that was found. Random numbers that differ, because others
// were drawn before, explain nothing if `bad` comes before them. Nothing if something else was found.
std::optional<std::uint32_t> find_limit(const Suspects& suspects, const FindingLog& findings,
                                        const OperatorComparison& bad) {
  if (findings.all().empty()) return suspects.size();
  const bool are_random = std::ranges::all_of(
      findings.all(), [](const Finding& finding) { return finding.cause == Cause::random; });
  const auto first = findings.all().front().executions.front();
  if (may_follow(findings)) return static_cast<std::uint32_t>(first);
  const auto place = suspects.find(bad);
  return are_random && place && *place < first ? std::optional<std::uint32_t>(first) : std::nullopt;
}

}  // namespace

Singles blame_sequence(const Suspects& suspects, const InputSearch& inputs,
                       const compare::Comparison& comparison, FindingLog& findings) {
  const auto& singles = inputs.singles();
  if ((singles.empty() && inputs.rewired().empty()) || !comparison.first_bad) return Singles::none;
  const OperatorComparison& bad = *comparison.first_bad;
  const std::optional<std::uint32_t> limit = find_limit(suspects, findings, bad);
  if (!limit) return Singles::none;
  const auto add = [&](std::uint32_t i, const std::string& why) {
    if (i >= *limit) return Singles::none;
    if (may_follow(findings)) {
      const model::Operator* const op = suspects[i].run().op.get();
      if (op == nullptr || op->phase != model::Phase::forward) return Singles::none;
      findings.clear();
    }
    if (is_paired(suspects[i]) && !inputs.rewired().contains(i))
      findings.add(i, Cause::unknown, Confidence::suspect, output_name(suspects[i]), why);
    else
      findings.add(i, Cause::sequence, Confidence::suspect, {}, why);
    findings.move_to_front();
    return Singles::blamed;
  };
  // Who made what the first bad operator reads, where each run computes the module in its own way.
  const compare::Accusation* origin = comparison.accusation_of(compare::kInputOrigin.name);
  if (origin != nullptr && origin != compare::first_bad(comparison.accusations))
    if (const auto maker = suspects.find(origin->op); maker && matters(suspects, *maker))
      return add(*maker, only_in(suspects[*maker]) + instead_of(suspects, *maker) + ", and " +
                             compare::one_line(compare::operator_name(bad.run())) + " reads what it makes");
  if (comparison.accusation_of(compare::kEndOfPart.name) != nullptr)
    if (const auto place = suspects.find(bad)) return add(*place, bad.cause);
  // A view computes nothing that could be replayed.
  if (origin != nullptr && !is_paired(bad) && !bad.cause.empty() && makes_view(bad))
    if (const auto view = suspects.find(bad)) return add(*view, bad.cause);
  // An operator with a cause was chosen for its reader.
  const bool is_single = !is_paired(bad) && bad.cause.empty();
  auto first = is_single ? inputs.feeder() : find_first(suspects, inputs);
  if (first && inputs.rewired().contains(*first)) first = inputs.first_alike(*first);
  const auto place = suspects.find(bad);
  if (is_paired(bad) && place) {  // what follows explains nothing
    if (first && *first > *place) first = inputs.feeder();
    if (first && *first > *place && !inputs.rewired().contains(*first)) first.reset();
  }
  if (!first) {
    const auto is_bad = [&](std::uint32_t i) { return are_one(suspects[i].run(), bad.run()); };
    const auto lone = std::ranges::find_if(singles, is_bad);
    // What reads it differs by less than another order of operators may round, and by more than it does here.
    if (lone != singles.end() && !is_paired(bad) && !bad.cause.empty()) return add(*lone, bad.cause);
    if (is_single && lone != singles.end() && suspects.differing() == 0)
      return add(*lone, only_in(bad) + ", and the other run has no such result");
    const bool follows = std::ranges::all_of(findings.all(), is_other_update);  // from `bad`, if anything
    const bool is_shown = !findings.all().empty() || (place && goes_on_behind(suspects, *place));
    if (is_paired(bad) && place && *place < *limit && !bad.cause.empty() && follows && is_shown) {
      const auto rewired = inputs.rewired().find(*place);
      return add(*place, rewired == inputs.rewired().end()
                             ? bad.cause
                             : rewired->second.describe() + ", and what follows differs");
    }
    return singles.empty() ? Singles::none : Singles::harmless;
  }
  if (const auto rewired = inputs.rewired().find(*first); rewired != inputs.rewired().end())
    return add(*first, rewired->second.describe() + ", and what follows differs");
  return add(*first, only_in(suspects[*first]) + instead_of(suspects, *first) + ", and what follows differs");
}

}  // namespace opdump::blame
