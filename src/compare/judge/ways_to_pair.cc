#include "compare/judge/ways_to_pair.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "compare/compare.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/pairs/across/pair_across.h"
#include "compare/pairs/across/renamed.h"
#include "compare/pairs/results/result_pairs.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/wiring/wiring.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// Programs of which names pair fewer operators were written anew, or in part.
constexpr double kRewritten = 0.5, kPartlyRewritten = 0.98;

// What a way to pair the operators of modules explains.
struct Explained {
  Answer answer = Answer::differs;
  std::uint64_t agreeing = 0;  // operators of modules
  double forward_share = 1;    // see Coverage
  std::optional<OperatorComparison> first_bad = {};
  bool is_uncovered_alone = false;  // it is incomplete because names pair little of the forward pass
  bool has_other_rows = false;      // one run has other rows of a batch, or other batches
};

Result<Explained> explain_with(bool is_across, const dump::DumpSet& golden, const dump::DumpSet& actual,
                               CompareOptions options) {
  Explained explained;
  options.pair_by = is_across ? PairBy::operators : PairBy::names;
  options.progress = {};
  options.explain = false;
  options.without.insert(std::string(kWhereValuesPart.name));
  options.take = [&](const OperatorComparison& op) {
    const auto agrees = [](const SlotComparison& slot) {
      return side_of(slot) == model::Side::output && slot.metrics && is_fine(slot.verdict);
    };
    explained.has_other_rows |=
        std::ranges::any_of(op.slots, [](const SlotComparison& slot) { return slot.parts != nullptr; });
    explained.agreeing += op.golden != nullptr && op.actual != nullptr && is_fine(op.verdict) &&
                          computes_in_module(*op.golden) && std::ranges::any_of(op.slots, agrees);
  };
  OPDUMP_TRY(const Comparison comparison, compare_dumps(golden, actual, options));
  explained.answer = comparison.outcome;
  explained.forward_share = comparison.coverage.forward_share;
  explained.first_bad = comparison.first_bad;
  explained.is_uncovered_alone = comparison.incomplete.size() == 1 && explained.forward_share < kLeastCover &&
                                 comparison.coverage.golden_filtered == 0 &&
                                 comparison.coverage.actual_filtered == 0;
  return explained;
}

// Where names leave many operators without a partner, as in a port, it is tried whether pairs by what
// operators compute explain more. What these leave out is not known to be the same, so that only a whole
// answer counts more than pairs by name without a difference that show half of the network.
Result<bool> explains_more_across(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                  const CompareOptions& options) {
  OPDUMP_TRY(const Explained by_name, explain_with(false, golden, actual, options));
  if (by_name.answer == Answer::same) return false;
  OPDUMP_TRY(const Explained across, explain_with(true, golden, actual, options));
  if (across.answer == Answer::same) return true;
  const bool is_unseen = by_name.answer != Answer::incomplete || by_name.forward_share < kHardlyAny;
  constexpr std::uint64_t kMuchMore = 2;  // times as many: names say more than values where both differ
  return is_unseen && across.agreeing > kMuchMore * by_name.agreeing;
}

bool has_modules(const dump::Runs& runs) {
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    if (computes_in_module(runs.without_slots(i))) return true;
  return false;
}

// Whether gradients are computed: of results that lead to none, nothing says what they are for.
bool trains(const dump::Runs& runs) {
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    if (phase_of(runs.without_slots(i)) == model::Phase::backward) return true;
  return false;
}

// Whether all operators are those of the program, on one rank.
bool are_as_written(const dump::DumpSet& dump) {
  const dump::Runs& runs = dump.runs();
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const dump::OperatorRun run = runs.without_slots(i);
    if (run.originals() != nullptr || model::has_trait(run.type, model::Trait::region)) return false;
  }
  return dump.rank_directories().size() == 1;
}

// Whether operators of one name make tensors of other shapes, as of batches that are padded otherwise.
bool have_other_shapes(const dump::Runs& golden, const dump::Runs& actual,
                       std::span<const OperatorPair> pairs) {
  const auto shape_of = [](const dump::Runs& runs, std::uint32_t execution) -> std::optional<model::Shape> {
    for (const dump::Slot& slot : runs.slots(execution))
      if (slot.side == model::Side::output) return slot.shape;
    return std::nullopt;
  };
  return std::ranges::any_of(pairs, [&](const OperatorPair& pair) {
    if (!pair.is_whole()) return false;
    const auto of_golden = shape_of(golden, pair.golden), of_actual = shape_of(actual, pair.actual);
    return of_golden && of_actual && *of_golden != *of_actual &&
           computes_in_module(golden.without_slots(pair.golden));
  });
}

bool has_parting(const Pairing& results) {
  return std::ranges::find(results.pairs, Fusion::parting, &OperatorPair::fusion) != results.pairs.end();
}

bool is_all_shown(const Pairing& results) { return results.incomplete.empty() && !has_parting(results); }

// Whether an operator makes something else, rather than the same with other rounding.
bool differs_far(const OperatorComparison& op) {
  constexpr double kFar = 1e-3;
  return std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
    return side_of(slot) == model::Side::output && is_difference(slot.verdict) &&
           (!slot.metrics || slot.metrics->relative_l2 > kFar);
  });
}

// Where names pair most, what they say counts unless the first bad operator only follows from something else,
// or has other arguments; and a difference of rows is theirs.
bool may_be_overruled(const Explained& explained, double share) {
  if (explained.has_other_rows) return false;
  if (explained.answer == Answer::incomplete) return share < kRewritten && explained.is_uncovered_alone;
  if (!explained.first_bad) return false;
  const Verdict verdict = explained.first_bad->verdict;
  return verdict == Verdict::inherited || verdict == Verdict::input_differs ||
         verdict == Verdict::argument_differs;
}

// The results that both runs have, where names pair little of one program with another, and `pairs`, by name
// or `is_across`, do not show that the two are the same. Where names pair the modules or most operators, they
// know better where a difference comes from, unless what they name is no operator that loses a result: of two
// runs that train, as nothing else says what a result is for.
Result<std::optional<Pairing>> pair_written_anew(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                                 const CompareOptions& options, bool is_across,
                                                 std::span<const OperatorPair> pairs) {
  const dump::Runs &golden_runs = golden.runs(), &actual_runs = actual.runs();
  const bool is_possible = !options.is_bitwise && !options.without.contains(kWhereValuesPart.name) &&
                           !are_of_different_frameworks(golden, actual) && are_as_written(golden) &&
                           are_as_written(actual);
  constexpr std::ptrdiff_t kFewest = 64;  // operators without a partner: fewer are no part of a program
  const auto has_no_partner = [](const OperatorPair& pair) { return !pair.is_whole() && !pair.is_alone; };
  const double share = is_possible && !is_across ? paired_share(golden_runs, actual_runs, pairs) : 0;
  const bool is_of_names = share >= kPartlyRewritten ||
                           (share >= kRewritten && std::ranges::count_if(pairs, has_no_partner) < kFewest);
  const bool is_padded_otherwise = is_possible && is_of_names &&
                                   have_other_shapes(golden_runs, actual_runs, pairs) &&
                                   trains(golden_runs) && trains(actual_runs);
  if (!is_possible || (is_of_names && !is_padded_otherwise)) return std::optional<Pairing>();
  OPDUMP_TRY(const Explained explained, explain_with(is_across, golden, actual, options));
  if (explained.answer == Answer::same) return std::optional<Pairing>();
  if (is_padded_otherwise) {
    if (explained.answer != Answer::differs || options.finds_rows || !options.rows.empty())
      return std::optional<Pairing>();
    auto results = pair_results(Wiring(golden_runs), Wiring(actual_runs), options.threads);
    return results && is_all_shown(*results) ? std::move(results) : std::optional<Pairing>();
  }
  const bool has_golden = has_modules(golden_runs), has_actual = has_modules(actual_runs);
  const bool are_modules_paired =
      !is_across && explained.forward_share >= kHardlyAny && (has_golden || has_actual);
  const bool is_in_part = are_modules_paired || (share >= kRewritten && !(has_golden && has_actual));
  if (is_in_part && !may_be_overruled(explained, share)) return std::optional<Pairing>();
  std::optional<OperatorPair> accused;
  if (is_in_part && explained.first_bad)
    accused = find_executions(golden_runs, actual_runs, *explained.first_bad);
  const bool has_other_arguments = accused && explained.first_bad->verdict == Verdict::argument_differs;
  std::optional<Pairing> results =
      pair_results(Wiring(golden_runs), Wiring(actual_runs), options.threads, accused, has_other_arguments);
  if (!results || !is_in_part) return results;
  const bool is_mispaired = explained.first_bad && differs_far(*explained.first_bad);
  const bool is_used = explained.answer == Answer::incomplete || is_mispaired
                           ? is_all_shown(*results) || (is_mispaired && has_parting(*results))
                           : has_parting(*results);
  return is_used ? std::move(results) : std::optional<Pairing>();
}

}  // namespace

Result<> pair_otherwise(const dump::DumpSet& golden, const dump::DumpSet& actual, const TailsOfBoth& tails,
                        const CompareOptions& options, bool& is_across, Pairing& pairing) {
  if (options.pair_by == PairBy::results) {
    std::optional<Pairing> results =
        pair_results(Wiring(golden.runs()), Wiring(actual.runs()), options.threads);
    if (!results)
      return Error(Code::usage,
                   "the two dumps have no result in common, or do not say what reads it: opdump run records "
                   "what --pair-by results needs");
    pairing = std::move(*results);
    is_across = true;
    return ok();
  }
  if (!is_across && may_be_renamed(golden.runs(), actual.runs(), pairing.pairs)) {
    OPDUMP_TRY(is_across, explains_more_across(golden, actual, options));
    if (is_across) {
      OPDUMP_TRY(pairing, pair_across(golden.runs(), actual.runs(), tails, options.map, options.threads));
      pairing.notes.insert(pairing.notes.begin(),
                           "names pair few operators of the two runs: they are paired by what they compute");
    }
  }
  OPDUMP_TRY(std::optional<Pairing> results,
             pair_written_anew(golden, actual, options, is_across, pairing.pairs));
  if (results) {
    pairing = std::move(*results);
    is_across = true;
  }
  return ok();
}

}  // namespace opdump::compare
