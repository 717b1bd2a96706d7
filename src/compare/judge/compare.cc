#include "compare/compare.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/text/text.h"
#include "compare/facts/environment.h"
#include "compare/facts/find_matrix_units.h"
#include "compare/facts/integer_operators.h"
#include "compare/facts/operator_kind.h"
#include "compare/facts/systematic.h"
#include "compare/facts/unfinished.h"
#include "compare/judge/open_questions.h"
#include "compare/judge/walk.h"
#include "compare/judge/ways_to_pair.h"
#include "compare/key_slots.h"
#include "compare/measure/measure.h"
#include "compare/measure/share.h"
#include "compare/measure/tasks.h"
#include "compare/names.h"
#include "compare/pairs/across/pair_across.h"
#include "compare/pairs/filtered.h"
#include "compare/pairs/frame/resumed.h"
#include "compare/pairs/make_operator.h"
#include "compare/pairs/pairing.h"
#include "compare/pairs/quantised/fused_activations.h"
#include "compare/pairs/quantised/quantisation.h"
#include "compare/pairs/rows/axis_order.h"
#include "compare/pairs/rows/common_rows.h"
#include "compare/pairs/rows/pair_rows.h"
#include "compare/pairs/sharded/pair_shards.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/gains/gain_judge.h"
#include "compare/rules/leave_out/leave_out.h"
#include "compare/rules/rounding/conditioning.h"
#include "compare/rules/rounding/rounding.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// What is compared before it is judged and released.
constexpr std::size_t kOperatorsAtOnce = 4096;
constexpr std::uint64_t kSlotsAtOnce = 1 << 15;
constexpr std::size_t kMostHeld = 1 << 14;  // rows that wait for what follows

std::uint64_t stored_bytes(const SlotComparison& slot) {
  return (slot.golden != nullptr ? slot.golden->stored_bytes() : 0) +
         (slot.actual != nullptr ? slot.actual->stored_bytes() : 0);
}

// Where the dumps lack what operators read, and are of the same operators. Tolerances that somebody chose are
// meant.
bool is_judged_by_gains(const dump::DumpSet& golden, const dump::DumpSet& actual, const RunRelation& relation,
                        const CompareOptions& options) {
  const bool is_plain =
      !relation.is_across && relation.sharded == nullptr && relation.quantisation == nullptr;
  return !options.rtol && !options.atol && is_plain && !have_input_tensors(golden.runs(), actual.runs());
}

// Compares the operators of a pairing in their order.
class Comparer {
 public:
  Comparer(const dump::DumpSet& golden, const dump::DumpSet& actual, const Pairing& pairing,
           const CompareOptions& options, const RunRelation& relation)
      : golden_(golden),
        actual_(actual),
        pairs_(pairing.pairs),
        options_(options),
        golden_wiring_(golden.runs()),
        actual_wiring_(actual.runs()),
        study_(make_study(relation)),
        walk_(study_),
        questions_(golden, actual),
        total_(golden.runs().stored_bytes() + actual.runs().stored_bytes()) {
    comparison_.is_across = relation.is_across;
    if (environments_) comparison_.notes.push_back({{}, *environments_});
    using Texts = std::vector<std::string>;
    for (const Texts* notes : std::initializer_list<const Texts*>{&study_.systematic.notes, &pairing.notes})
      for (const std::string& note : *notes) comparison_.notes.push_back({{}, note});
    std::ranges::copy(pairing.incomplete, std::back_inserter(unfinished_reasons_));
  }

  Result<Comparison> compare() {
    if (options_.share != nullptr) {
      OPDUMP_TRY(shared_, join_comparison(*options_.share, golden_, actual_, count_rounds()));
      comparison_.incomplete = shared_->problems();
    }
    for (Batch batch = next_batch(0); batch.first < pairs_.size(); batch = next_batch(batch.last)) {
      OPDUMP_CHECK_OK(compare_batch(batch));
      if (options_.progress && total_ > 0) options_.progress(done_, total_);
    }
    walk_.settle();
    release_held();
    std::ranges::move(unfinished_reasons_, std::back_inserter(comparison_.incomplete));
    questions_.append_to(comparison_.incomplete);
    questions_.append_notes_to(comparison_.notes);
    walk_.remark();
    if (is_of_one_network() && walk_.ledger().first_bad() == nullptr) cover_by_readers();
    std::move(walk_).conclude(comparison_);
    if (is_of_one_network()) doubt_small_cover();
    note_unrecorded_steps();
    if (options_.is_bitwise && comparison_.first_bad) note_bits(*comparison_.first_bad);
    return std::move(comparison_);
  }

 private:
  // Not of two frameworks, which have other operators for the same, and of some none at all; nor of two
  // programs of which all results are paired or shown.
  bool is_of_one_network() const {
    return study_.relation.sharded == nullptr &&
           std::ranges::find(pairs_, Fusion::result, &OperatorPair::fusion) == pairs_.end() &&
           !(study_.relation.is_across && are_of_different_frameworks(golden_, actual_));
  }

  // Where the two runs have other modules, what reads their results may show them.
  void cover_by_readers() {
    ForwardCover& cover = walk_.ledger().cover();
    if (cover.share() >= kLeastCover || !golden_wiring_.is_recorded() || !actual_wiring_.is_recorded())
      return;
    std::vector<bool> golden(golden_.runs().size()), actual(actual_.runs().size());
    for (const OperatorPair& pair : pairs_)
      if (pair.is_whole()) golden[pair.golden] = actual[pair.actual] = true;
    cover.cover_by_readers(true, golden_wiring_, golden);
    cover.cover_by_readers(false, actual_wiring_, actual);
  }

  // Equal losses of networks that have nothing in common prove little.
  void doubt_small_cover() {
    const double share = comparison_.coverage.forward_share;
    const bool is_same = comparison_.outcome == Answer::same;
    if (!is_same && comparison_.outcome != Answer::differs) return;
    if (share >= (is_same ? kLeastCover : kHardlyAny)) return;
    if (is_same) comparison_.outcome = Answer::incomplete;
    comparison_.incomplete.push_back(
        "only " + std::to_string(static_cast<int>(100 * share)) +
        " % of the forward operators are in modules of which the other run has a counterpart");
  }

  // "No difference" is said of what was recorded.
  void note_unrecorded_steps() {
    if (comparison_.outcome != Answer::same) return;
    if (std::string note = describe_unrecorded_steps(golden_, actual_); !note.empty())
      comparison_.notes.push_back({{}, std::move(note)});
  }

  // Of pairs.
  struct Batch {
    std::size_t first = 0, last = 0;
  };

  Study make_study(const RunRelation& relation) {
    Study study{.golden = &golden_,
                .actual = &actual_,
                .golden_wiring = &golden_wiring_,
                .actual_wiring = &actual_wiring_,
                .pairs = pairs_,
                .relation = relation,
                .options = &options_};
    const bool is_sharded = relation.sharded != nullptr;
    study.unfinished = find_unfinished(golden_, actual_, is_sharded, unfinished_reasons_);
    study.systematic = find_systematic(golden_.runs(), actual_.runs(), pairs_, study.unfinished, !is_sharded);
    if (!relation.is_across) environments_ = describe_environments(golden_, actual_);
    study.has_other_environment = environments_.has_value();
    study.by_gains = is_judged_by_gains(golden_, actual_, relation, options_);
    return study;
  }

  std::uint64_t slot_count(const OperatorPair& pair) const {
    return (pair.golden != OperatorPair::kNone ? golden_.runs().slot_count(pair.golden) : 0) +
           (pair.actual != OperatorPair::kNone ? actual_.runs().slot_count(pair.actual) : 0);
  }

  Batch next_batch(std::size_t first) const {
    Batch batch{first, first};
    for (std::uint64_t slots = 0; batch.last < pairs_.size() && batch.last - first < kOperatorsAtOnce;) {
      slots += slot_count(pairs_[batch.last]);
      if (slots > kSlotsAtOnce && batch.last > first) break;
      ++batch.last;
    }
    return batch;
  }

  std::uint64_t count_rounds() const {
    std::uint64_t rounds = 0;
    for (Batch batch = next_batch(0); batch.first < pairs_.size(); batch = next_batch(batch.last)) ++rounds;
    return rounds;
  }

  Result<> measure(std::span<OperatorComparison> operators) {
    std::vector<Task> tasks = make_tasks(operators);
    if (shared_) {
      OPDUMP_CHECK_OK(share_tasks(*shared_, tasks, options_, done_, total_, comparison_.incomplete));
    } else {
      std::vector<Task*> all;
      all.reserve(tasks.size());
      for (Task& task : tasks) all.push_back(&task);
      run_tasks(all, options_, done_, total_);
    }
    copy_results(tasks);
    for (const OperatorComparison& op : operators)
      for (const SlotComparison& slot : op.slots) done_ += stored_bytes(slot);
    return ok();
  }

  Result<> compare_batch(const Batch& batch) {
    std::vector<OperatorComparison> operators;
    for (std::size_t i = batch.first; i < batch.last; ++i)
      operators.push_back(make_operator(pairs_[i], golden_, actual_, study_.relation));
    OPDUMP_CHECK_OK(measure(operators));
    for (std::size_t i = 0; i < operators.size(); ++i) {
      measure_apart_from_units(operators[i]);
      exchange_terms(operators[i]);
      walk_.look(operators[i], batch.first + i);
      hold(std::move(operators[i]), batch.first + i);
    }
    return ok();
  }

  // What multiplies no matrices, and reads the same in both runs, rounds as its type does.
  void measure_apart_from_units(OperatorComparison& op) {
    if (study_.relation.units == nullptr || op.golden == nullptr ||
        study_.relation.units->compute(op.golden->type))
      return;
    const auto is_same = [](const SlotComparison& slot) {
      return side_of(slot) == model::Side::output || !slot.metrics || slot.metrics->max_abs == 0;
    };
    if (!std::ranges::all_of(op.slots, is_same)) return;
    for (SlotComparison& slot : op.slots) {
      if (slot.rounds_as == model::DType::undefined || !slot.metrics || slot.metrics->max_abs == 0) continue;
      slot.rounds_as = model::DType::undefined;
      measure_slot(slot, options_, options_.threads);
    }
  }

  // a + b is b + a: where the inputs do not agree they may in the other order, if the results agree, or the
  // terms are of other types or shapes.
  void exchange_terms(OperatorComparison& op) {
    if (op.golden == nullptr || op.actual == nullptr || op.golden->type != op.actual->type ||
        !model::has_trait(op.golden->type, model::Trait::commutes))
      return;
    std::vector<SlotComparison*> terms;
    bool do_results_agree = true;
    for (SlotComparison& slot : op.slots) {
      if (slot.parts != nullptr || slot.golden == nullptr || slot.actual == nullptr) return;
      if (side_of(slot) == model::Side::output)
        do_results_agree &= is_fine(slot.verdict);
      else if (is_fine(slot.verdict) || !model::is_floating(slot.dtype))
        return;  // true and false are exchanged by chance
      else
        terms.push_back(&slot);
    }
    if (terms.size() != 2) return;
    const auto are_alike = [](const dump::Slot& a, const dump::Slot& b) {
      return a.dtype == b.dtype && a.shape == b.shape;
    };
    SlotComparison &first = *terms[0], &second = *terms[1];
    const bool are_exchanged = are_alike(*first.golden, *second.actual) &&
                               are_alike(*second.golden, *first.actual) &&
                               !are_alike(*first.golden, *first.actual);
    if (!are_exchanged && !do_results_agree) return;
    const auto pair = [&](const SlotComparison& of_golden, const SlotComparison& of_actual) {
      SlotComparison slot;
      slot.any_layout = of_golden.any_layout;
      slot.rounds_as = of_golden.rounds_as;
      slot.golden = of_golden.golden;
      slot.actual = of_actual.actual;
      measure_slot(slot, options_, options_.threads);
      return slot;
    };
    SlotComparison as_first = pair(first, second), as_second = pair(second, first);
    if (!are_exchanged && (!is_fine(as_first.verdict) || !is_fine(as_second.verdict))) return;
    first = std::move(as_first);
    second = std::move(as_second);
  }

  // How far apart what is not equal bit by bit is.
  void note_bits(const OperatorComparison& op) {
    constexpr double kOwnRoundoffs = 4;
    const SlotComparison* const slot = key_slot(op);
    if (slot == nullptr || !slot->metrics || !(roundoff(slot->dtype) > 0)) return;
    const double units = slot->metrics->relative_l2 / roundoff(slot->dtype);
    comparison_.notes.push_back(
        {{},
         "bit by bit: " + slot_name(*slot) + " differs by " + format_g(units) + " times a rounding of " +
             std::string(model::dtype_info(slot->dtype).name) +
             (units <= kOwnRoundoffs ? ", as another kernel or another order of a sum does: no fault" : "")});
  }

  // A row that what follows may still change waits, and so do those behind it.
  void hold(OperatorComparison op, std::size_t place) {
    held_.emplace_back(place, std::move(op));
    if (held_.size() > kMostHeld) walk_.ledger().close_rows();
    if (!walk_.ledger().may_revise()) release_held();
  }

  void release_held() {
    for (auto& [place, op] : held_) {
      walk_.ledger().revise(op, place);
      walk_.ledger().count(op);
      questions_.add(op);
      if (options_.take) options_.take(op);
    }
    held_.clear();
  }

  const dump::DumpSet &golden_, &actual_;
  const std::vector<OperatorPair>& pairs_;
  const CompareOptions& options_;
  Wiring golden_wiring_, actual_wiring_;
  Comparison comparison_;
  std::vector<std::string> unfinished_reasons_;
  std::optional<std::string> environments_;
  Study study_;
  Walk walk_;
  OpenQuestions questions_;
  std::vector<std::pair<std::size_t, OperatorComparison>> held_;  // with their places
  std::optional<group::SharedWork> shared_;
  std::uint64_t done_ = 0, total_;  // bytes of tensors
};

// What another framework has no operators for. An error says what to do.
Result<> refuse_integers(std::string_view side, std::string_view other, const dump::Runs& runs) {
  const auto first = find_integer_operator(runs);
  if (!first) return ok();
  const dump::OperatorRun run = runs.without_slots(*first);
  const bool is_executed = run.originals() != nullptr;  // perhaps in floating point as written
  const std::string name(side);
  return Error(Code::unsupported, name + " computes with integers (" + run.type +
                                      "), and no other framework has such operators: compare " +
                                      std::string(other) +
                                      " with the ONNX model in floating point, and that one with " + name +
                                      (is_executed ? ", or record it without --as-executed" : ""));
}

// Which rows of the runs are the same, if they have others. Then `pairing` is of them.
Result<std::unique_ptr<const CommonRows>> find_common_rows(const RunsOfBoth& runs, bool is_special,
                                                           const CompareOptions& options, Pairing& pairing) {
  if (is_special && !options.rows.empty())
    return Error(Code::usage, "--rows needs two runs of one framework, on as many ranks, in floating point");
  if (is_special || options.without.contains(kOtherRows.name)) return std::unique_ptr<const CommonRows>();
  return pair_rows(runs, {.is_asked = options.finds_rows, .wanted = options.rows}, pairing);
}

}  // namespace

math::Tolerance default_tolerance(model::DType dtype) {
  switch (dtype) {
    case model::DType::float16:
      return {1e-3, 1e-5};
    case model::DType::bfloat16:
      return {1.6e-2, 1e-5};
    case model::DType::float32:
    case model::DType::complex64:
      return {1.3e-6, 1e-5};
    case model::DType::float64:
    case model::DType::complex128:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

Result<Comparison> compare_dumps(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                 const CompareOptions& options) {
  TailsOfBoth tails{.golden = find_tails(golden), .actual = find_tails(actual)};
  const dump::Runs &golden_runs = golden.runs(), &actual_runs = actual.runs();
  if (!options.without.contains(kResumedRun.name))
    tails.step_shift = find_step_shift(golden_runs, actual_runs, tails);
  bool is_across = options.pair_by ? *options.pair_by == PairBy::operators
                                   : !options.map.empty() || are_of_different_frameworks(golden, actual) ||
                                         is_one_saved_in_other_layout(golden_runs, actual_runs);
  if (is_across) {
    OPDUMP_CHECK_OK(refuse_integers("golden", "actual", golden_runs));
    OPDUMP_CHECK_OK(refuse_integers("actual", "golden", actual_runs));
  }
  auto sharded = is_across ? std::optional<ShardedRuns>() : ShardedRuns::find(golden_runs, actual_runs);
  if (options.shards != nullptr) {
    const std::int64_t ranks = options.shards->rank_count();
    if (!sharded || !sharded->has_whole() || static_cast<std::int64_t>(sharded->rank_count()) != ranks)
      return Error(Code::usage, "the mesh has " + counted(static_cast<std::uint64_t>(ranks), "rank") +
                                    "; expected one dump of one rank and one of as many as the mesh has");
    sharded->declare(options.shards.get());
  }
  const auto quantisation =
      sharded ? std::optional<Quantisation>() : Quantisation::find(golden_runs, actual_runs);
  const bool minds_filters = !options.without.contains(kFiltered.name);
  const FiltersOfBoth filters =
      minds_filters ? FiltersOfBoth{.golden = &golden.filter(), .actual = &actual.filter()} : FiltersOfBoth();
  OPDUMP_TRY(
      Pairing pairing,
      is_across ? pair_across(golden_runs, actual_runs, tails, options.map, options.threads)
                : Result<Pairing>(sharded ? sharded->pair(tails)
                                          : pair_operators(golden_runs, actual_runs, tails, false, filters)));
  const bool by_results = options.pair_by == PairBy::results;
  const bool is_special = sharded || quantisation || !options.map.empty();
  if (by_results && is_special)
    return Error(Code::usage,
                 "--pair-by results needs two runs on as many ranks, in floating point, and no --map");
  if (!is_special && (by_results || !options.pair_by))
    OPDUMP_CHECK_OK(pair_otherwise(golden, actual, tails, options, is_across, pairing));
  if (!is_across && !sharded) join_fused_activations(golden_runs, actual_runs, pairing.pairs);
  if (quantisation) {
    quantisation->arrange(pairing.pairs, is_across);
    pairing.notes.push_back(quantisation->note());
  }
  OPDUMP_TRY(const std::unique_ptr<const CommonRows> rows,
             find_common_rows({golden_runs, actual_runs, tails, filters},
                              is_across || sharded || quantisation, options, pairing));
  const std::unique_ptr<const AxisOrder> axes =
      is_across || sharded || quantisation || rows != nullptr || options.finds_rows == false
          ? nullptr
          : pair_axis_order({golden_runs, actual_runs, tails, filters}, pairing);
  if (minds_filters) mark_filtered(golden, actual, pairing.pairs, pairing.notes);
  std::optional<MatrixUnits> units, of_golden, of_actual;
  if (!is_across && !sharded && !quantisation && rows == nullptr &&
      !options.without.contains(kMatrixUnits.name)) {
    of_golden = find_matrix_units(golden_runs);
    of_actual = find_matrix_units(actual_runs);
    for (const auto& [side, found] : {std::pair("golden", &of_golden), std::pair("actual", &of_actual)})
      if (*found) {
        pairing.notes.push_back(describe_units(side, **found) + ": differences of that size are rounding");
        units = join_units(units, **found);
      }
  }
  const RunRelation relation{.is_across = is_across,
                             .sharded = sharded ? &*sharded : nullptr,
                             .quantisation = quantisation ? &*quantisation : nullptr,
                             .rows = rows.get(),
                             .axes = axes.get(),
                             .units = units ? &*units : nullptr};
  OPDUMP_TRY(Comparison comparison, Comparer(golden, actual, pairing, options, relation).compare());
  comparison.golden_units = of_golden;
  comparison.actual_units = of_actual;
  return comparison;
}

}  // namespace opdump::compare
