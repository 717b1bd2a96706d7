#include "blame/sequence.h"

#include <algorithm>
#include <optional>
#include <string>

#include "blame/differences.h"
#include "blame/inputs/origin.h"
#include "compare/names.h"
#include "compare/runs/rewritten.h"

namespace opdump::blame {

using compare::OperatorComparison;

namespace {

// The first of operators that only one run has, where what follows them at once differs beyond rounding.
// Where it does not, or not at once, they are another way to compute the same; in rewritten modules, what
// follows the module counts, if anything does. An operator of both runs that reads what others made counts as
// one of one run.
std::optional<std::uint32_t> find_first(const Suspects& suspects, const InputSearch& inputs) {
  std::optional<std::uint32_t> first;      // since the last operator of both runs that differs
  std::optional<std::uint32_t> nearest;    // since the last one of both runs
  std::optional<std::uint32_t> candidate;  // of a rewritten module
  for (std::uint32_t i = 0; i < suspects.size(); ++i) {
    if (i > 0 && suspects.before_equal().contains(i - 1)) nearest.reset(), candidate.reset();
    if (!is_paired(suspects[i]) || inputs.rewired().contains(i)) {
      if (!suspects[i].left_out.empty() || is_copy(suspects[i].run().type)) continue;
      if (!first) first = i;
      if (!nearest) nearest = i;
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

std::string only_in(const OperatorComparison& op) {
  return op.golden != nullptr ? "only in golden" : "only in actual";
}

// Of an operator that only one run has, what the other run has instead: in one module with it, and with no
// operator of both runs in between.
std::optional<std::uint32_t> find_in_its_place(const Suspects& suspects, std::uint32_t single) {
  const bool is_golden = suspects[single].golden != nullptr;
  for (std::uint32_t i = single; i < suspects.size() && !is_paired(suspects[i]); ++i) {
    if ((suspects[i].golden != nullptr) != is_golden &&
        compare::RewrittenModules::are_together(suspects[i].run(), suspects[single].run()))
      return i;
    if (suspects.before_equal().contains(i)) break;
  }
  return std::nullopt;
}

}  // namespace

Singles blame_sequence(const Suspects& suspects, const InputSearch& inputs,
                       const compare::Comparison& comparison, FindingLog& findings) {
  const auto& singles = inputs.singles();
  if (!findings.all().empty() || (singles.empty() && inputs.rewired().empty()) || !comparison.first_bad)
    return Singles::none;
  const OperatorComparison& bad = *comparison.first_bad;
  // With a cause, it was chosen for its reader.
  const bool is_single = !is_paired(bad) && bad.cause.empty();
  const auto first = is_single ? inputs.feeder() : find_first(suspects, inputs);
  const auto add = [&](std::uint32_t i, const std::string& why) {
    findings.add(i, Cause::sequence, Confidence::suspect, {}, why);
    return Singles::blamed;
  };
  if (!first) {
    const auto is_bad = [&](std::uint32_t i) { return are_one(suspects[i].run(), bad.run()); };
    const auto lone = std::ranges::find_if(singles, is_bad);
    if (is_single && lone != singles.end() && suspects.differing() == 0)
      return add(*lone, only_in(bad) + ", and the other run has no such result");
    return singles.empty() ? Singles::none : Singles::harmless;
  }
  if (const auto rewired = inputs.rewired().find(*first); rewired != inputs.rewired().end())
    return add(*first, rewired->second + ", and what follows differs");
  const auto other = find_in_its_place(suspects, *first);
  const std::string instead = other ? std::string(", where ") +
                                          (suspects[*first].golden != nullptr ? "actual" : "golden") +
                                          " has " + compare::one_line(suspects[*other].run().type)
                                    : std::string();
  return add(*first, only_in(suspects[*first]) + instead + ", and what follows differs");
}

}  // namespace opdump::blame
