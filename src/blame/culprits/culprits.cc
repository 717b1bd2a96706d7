#include "blame/culprits/culprits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "blame/culprits/removal.h"
#include "blame/differences.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/accuse/dropouts.h"
#include "compare/rules/gains/usual_gains.h"
#include "model/operator_traits.h"

namespace opdump::blame {
namespace {

using compare::OperatorComparison;

constexpr std::size_t kMaxCulprits = 8;  // that are taken away
constexpr std::size_t kMaxFurther = 32;  // operators that are run again after the first culprit
constexpr double kNothing = 0.005;       // of the final error: what is shown as 0 %

std::string forward_module_of(const dump::OperatorRun& run) {
  return std::string(model::without_gradients(compare::module_of(run)));
}

// What findings have in common that are one. About an argument: the module, as the operator may be in the
// backward pass of the other; or the type, as a number of the program reaches all modules of a kind.
std::vector<std::string> subjects_of(const Finding& finding) {
  const dump::OperatorRun& run = finding.op.run();
  if (finding.cause != Cause::argument) return {compare::operator_name(run)};
  const auto dropout = is_paired(finding.op)
                           ? compare::find_dropout_difference(*finding.op.golden, *finding.op.actual)
                           : std::nullopt;
  const std::string why = dropout.value_or(finding.why);
  return {forward_module_of(run) + ": " + why, run.type + ": " + why};
}

void merge(Finding& first, const Finding& other) {
  const dump::OperatorRun &run = first.op.run(), &of_other = other.op.run();
  first.executions.push_back(other.executions.front());
  if (of_other.step != run.step) first.later_steps.insert(of_other.step);
  if (forward_module_of(of_other) == forward_module_of(run)) return;
  std::string name = compare::operator_name(of_other);
  if (std::ranges::find(first.others, name) == first.others.end()) first.others.push_back(std::move(name));
}

// Certain findings of one rank become one if they have a cause and a subject in common.
void merge_findings(std::vector<Finding>& findings) {
  std::map<std::tuple<std::string, std::uint32_t, Cause>, std::size_t> known;
  std::vector<Finding> merged;
  for (Finding& finding : findings) {
    if (finding.confidence != Confidence::certain) {
      merged.push_back(std::move(finding));
      continue;
    }
    std::optional<std::size_t> same;
    std::vector<std::tuple<std::string, std::uint32_t, Cause>> keys;
    for (std::string& subject : subjects_of(finding)) {
      keys.emplace_back(std::move(subject), finding.op.run().rank, finding.cause);
      if (const auto found = known.find(keys.back()); !same && found != known.end()) same = found->second;
    }
    for (auto& key : keys) known.try_emplace(std::move(key), same.value_or(merged.size()));
    if (same)
      merge(merged[*same], finding);
    else
      merged.push_back(std::move(finding));
  }
  findings = std::move(merged);
}

// What to run actual's operator without. Nothing for faults of golden and operators of one run.
std::optional<Without> without_of(const Finding& finding) {
  if (!is_paired(finding.op)) return std::nullopt;
  switch (finding.cause) {
    case Cause::own_error:
    case Cause::both:
      return Without{.own = true, .argument = false};
    case Cause::argument:
      return Without{.own = false, .argument = true};
    case Cause::input:
    case Cause::overwritten: {
      const std::string_view index = std::string_view(finding.slot).substr(finding.slot.find('.') + 1);
      return Without{.own = false,
                     .argument = false,
                     .inputs = {static_cast<std::uint32_t>(parse_uint64(index).value_or(0))}};
    }
    default:
      return std::nullopt;
  }
}

bool changes_nothing(const Finding& finding) {
  return finding.removes && std::abs(*finding.removes) < kNothing;
}

// How much of the final error goes away without each of several culprits.
Result<> measure_culprits(BlameAnswer& answer, std::span<const OperatorComparison> suspects,
                          const std::set<std::uint32_t>& read, const Replay& replay, std::uint64_t limit) {
  std::vector<FaultyOperator> culprits;
  std::vector<Finding*> ranked;
  std::size_t first = suspects.size();
  for (Finding& finding : answer.findings) {
    const auto without = without_of(finding);
    if (finding.confidence != Confidence::certain || !without) continue;
    culprits.push_back({.executions = finding.executions, .without = *without});
    ranked.push_back(&finding);
    first = std::min(first, finding.executions.front());
  }
  if (culprits.size() < 2) return ok();
  const auto is_collective = [](const OperatorComparison& op) {
    return model::has_trait(op.run().type, model::Trait::collective);
  };
  if (std::ranges::any_of(suspects.subspan(first), is_collective)) {
    answer.notes.push_back(
        "culprits are in the order of execution: ranks exchange tensors, which cannot be run again");
    return ok();
  }
  if (culprits.size() > kMaxCulprits) {
    answer.notes.push_back(counted(culprits.size() - kMaxCulprits, "more culprit", "are") + " not ranked");
    culprits.resize(kMaxCulprits);
  }
  std::vector<bool> is_end;
  for (std::size_t i = first; i < suspects.size(); ++i)
    is_end.push_back(!read.contains(static_cast<std::uint32_t>(i)));
  for (FaultyOperator& culprit : culprits)
    for (std::size_t& execution : culprit.executions) execution -= first;
  const auto removal = measure_removal(suspects.subspan(first), is_end, culprits, replay, limit);
  if (!removal && (removal.error().code() == Code::internal || removal.error().code() == Code::unsupported)) {
    answer.notes.push_back("culprits are in the order of execution: " + removal.error().message());
    return ok();
  }
  if (!removal) return removal.error();
  for (std::size_t i = 0; i < culprits.size(); ++i) {
    ranked[i]->removes = removal->shares[i];
    // What the error does not depend on follows from something else, as the size of a tensor does; unless it
    // depends on none of them, as where sizes differ. What a loader's worker makes is handed on by no
    // operator.
    const bool is_read = std::ranges::any_of(ranked[i]->executions, [&](std::size_t execution) {
      return read.contains(static_cast<std::uint32_t>(execution));
    });
    if (is_read && changes_nothing(*ranked[i])) ranked[i]->confidence = Confidence::suspect;
  }
  answer.removed = removal->together;
  for (const std::string& name : removal->ended)
    answer.notes.push_back("what is left without a culprit does not count what " + compare::one_line(name) +
                           " makes of it: run again, it ends the process");
  if (!removal->is_whole)
    answer.notes.push_back(
        "culprits are ranked by the error some operators later, not at the end, which takes too long");
  return ok();
}

}  // namespace

std::set<std::uint32_t> choose_further(std::span<const OperatorComparison> suspects, std::uint32_t first) {
  std::vector<std::pair<double, std::uint32_t>> gains;
  for (std::uint32_t i = first; i < suspects.size(); ++i) {
    const OperatorComparison& op = suspects[i];
    if (!is_paired(op) || !differs(op, model::Side::output)) continue;
    const double read = distance_of(op, model::Side::input), made = distance_of(op);
    compare::Gain gain{.of = compare::GainOf::statistics, .slot = {}};
    gain.dtype = compare::key_slot(op)->dtype;
    gain.whole = std::isfinite(made) && read > 0 ? made / read : HUGE_VAL;
    gains.emplace_back(-compare::usual_gains().excess(op.run().type, gain), i);
  }
  std::ranges::sort(gains);
  std::set<std::uint32_t> chosen;
  for (std::size_t i = 0; i < std::min(gains.size(), kMaxFurther); ++i) chosen.insert(gains[i].second);
  return chosen;
}

Result<> rank_culprits(BlameAnswer& answer, std::span<const OperatorComparison> suspects,
                       const std::set<std::uint32_t>& read, const Replay& replay, std::uint64_t limit) {
  merge_findings(answer.findings);
  OPDUMP_CHECK_OK(measure_culprits(answer, suspects, read, replay, limit));
  // Where sizes differ, the error depends on none of them: then the first is that which runs first.
  const bool is_measured = answer.removed.value_or(1) >= kNothing;
  std::ranges::stable_sort(answer.findings, {}, [&](const Finding& f) {
    const bool is_vain = changes_nothing(f);
    return std::tuple(static_cast<int>(f.confidence), is_measured && is_vain, f.cause == Cause::unknown,
                      is_vain ? 0.0 : -std::max(f.removes.value_or(0), 0.0),
                      is_measured ? 0 : f.executions.front());
  });
  return ok();
}

}  // namespace opdump::blame
