#include "compare/compare.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/text/text.h"
#include "compare/facts/arguments.h"
#include "compare/facts/environment.h"
#include "compare/facts/integer_operators.h"
#include "compare/facts/systematic.h"
#include "compare/facts/unfinished.h"
#include "compare/judge/open_questions.h"
#include "compare/judge/verdict.h"
#include "compare/key_slots.h"
#include "compare/measure/measure.h"
#include "compare/measure/share.h"
#include "compare/measure/tasks.h"
#include "compare/names.h"
#include "compare/pairs/across/pair_across.h"
#include "compare/pairs/make_operator.h"
#include "compare/pairs/pairing.h"
#include "compare/pairs/quantised/fused_activations.h"
#include "compare/pairs/quantised/quantisation.h"
#include "compare/pairs/sharded/pair_shards.h"
#include "compare/rules/collectives.h"
#include "compare/rules/dropouts.h"
#include "compare/rules/equivalence.h"
#include "compare/rules/gains/gain_judge.h"
#include "compare/rules/gains/singles.h"
#include "compare/rules/one_sided.h"
#include "compare/rules/origin.h"
#include "compare/rules/regions.h"
#include "compare/rules/rewritten.h"
#include "compare/rules/rounding/rewritten_results.h"
#include "compare/rules/views.h"
#include "compare/wiring/producer.h"

namespace opdump::compare {
namespace {

// What is compared before it is judged and released.
constexpr std::size_t kOperatorsAtOnce = 4096;
constexpr std::uint64_t kSlotsAtOnce = 1 << 15;

std::uint64_t stored_bytes(const SlotComparison& slot) {
  return (slot.golden != nullptr ? slot.golden->stored_bytes() : 0) +
         (slot.actual != nullptr ? slot.actual->stored_bytes() : 0);
}

// Compares the operators of a pairing in their order.
class Comparer {
 public:
  Comparer(const dump::DumpSet& golden, const dump::DumpSet& actual, const Pairing& pairing,
           const CompareOptions& options, const RunRelation& relation)
      : golden_(golden),
        actual_(actual),
        pairs_(pairing.pairs),
        relation_(relation),
        options_(options),
        unfinished_(find_unfinished(golden, actual, relation.sharded != nullptr, unfinished_reasons_)),
        systematic_(find_systematic(golden.runs(), actual.runs(), pairing.pairs, unfinished_,
                                    relation.sharded == nullptr)),
        collectives_(
            golden.runs(), pairing.pairs,
            [this](const OperatorPair& pair) { return make_operator(pair, golden_, actual_, relation_); }),
        judge_(unfinished_, RoundingJudge(systematic_.are_types_usual, find_rewritten_results()),
               find_gains()),
        questions_(golden, actual),
        total_(golden.runs().stored_bytes() + actual.runs().stored_bytes()) {
    comparison_.is_across = relation_.is_across;
    if (const auto line = relation_.is_across ? std::nullopt : describe_environments(golden, actual)) {
      comparison_.notes.push_back(*line);
      has_other_environment_ = true;
    }
    std::ranges::copy(systematic_.notes, std::back_inserter(comparison_.notes));
    std::ranges::copy(pairing.notes, std::back_inserter(comparison_.notes));
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
    if (!settle_pairs()) settle_singles();
    look_at_regions();
    std::ranges::move(unfinished_reasons_, std::back_inserter(comparison_.incomplete));
    questions_.append_to(comparison_.incomplete);
    questions_.append_notes_to(comparison_.notes);
    judge_.conclude(comparison_);
    look_for_other_view();
    look_for_one_sided_backward();
    look_for_other_dropout();
    explain_first_bad();
    look_for_wrong_region();
    note_small_error();
    return std::move(comparison_);
  }

 private:
  // Where the dumps lack what operators read, and are of the same operators. Tolerances that somebody chose
  // are meant.
  std::optional<GainJudge> find_gains() const {
    if (options_.rtol || options_.atol) return std::nullopt;
    const bool is_plain =
        !relation_.is_across && relation_.sharded == nullptr && relation_.quantisation == nullptr;
    if (!is_plain || have_input_tensors(golden_.runs(), actual_.runs())) return std::nullopt;
    return GainJudge(!describe_environments(golden_, actual_));
  }

  RewrittenResults find_rewritten_results() const {
    if (relation_.is_across || relation_.sharded != nullptr) return {};
    return {golden_.runs(), actual_.runs(), pairs_};
  }

  // Of pairs.
  struct Batch {
    std::size_t first = 0, last = 0;
  };

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
      for (Task& task : tasks) all.push_back(&task);
      run_tasks(all, options_, done_, total_);
    }
    copy_results(tasks);
    for (const OperatorComparison& op : operators)
      for (const SlotComparison& slot : op.slots) done_ += stored_bytes(slot);
    return ok();
  }

  void note_explained(std::size_t singles, std::size_t pairs) {
    if (singles > 0)
      comparison_.notes.push_back(
          counted(singles, "operator") + (singles == 1 ? " is" : " are") +
          " in one run only, and the other run has the results, or nothing reads them: no difference");
    if (pairs > 0)
      comparison_.notes.push_back(counted(pairs, "operator") + (pairs == 1 ? " reads" : " read") +
                                  " other tensors in each run, and what follows agrees: no difference");
  }

  // Operators that hand on a difference are none if the runs only compute the same in other ways. Whether
  // that is so.
  bool settle_pairs() {
    const std::span<const OpenPair> open = judge_.open_pairs();
    if (open.empty() || relation_.sharded != nullptr || judge_.gains()) return false;
    const std::span<const std::size_t> singles = judge_.all_singles();
    const auto unexplained = find_unexplained(golden_, actual_, pairs_, singles, open, judge_.noise());
    if (!unexplained.empty()) return false;
    note_explained(singles.size(), open.size());
    judge_.excuse_pairs();
    judge_.settle_singles(std::nullopt);
    return true;
  }

  // Operators that only one run has are no difference if the other run has what they make.
  void settle_singles() {
    const std::span<const std::size_t> singles = judge_.open_singles();
    if (singles.empty()) return;
    const auto unexplained = judge_.gains()
                                 ? find_lacking_singles(singles)
                                 : find_unexplained(golden_, actual_, pairs_, singles, {}, judge_.noise());
    note_explained(singles.size() - unexplained.size(), 0);
    if (!unexplained.empty() && unexplained.front() == singles.front()) return;  // that is bad already
    std::optional<OperatorComparison> first;
    if (!unexplained.empty()) {
      first = make_operator(pairs_[unexplained.front()], golden_, actual_, relation_);
      for (SlotComparison& slot : first->slots) measure_slot(slot, options_, 1);
    }
    judge_.settle_singles(std::move(first));
  }

  // The same where nobody knows who reads what they make.
  std::vector<std::size_t> find_lacking_singles(std::span<const std::size_t> singles) const {
    const dump::Runs &golden = golden_.runs(), &actual = actual_.runs();
    if (const auto backward = find_one_sided_backward(golden, actual, pairs_)) return {*backward};
    const auto last = find_last_singles(golden, actual, pairs_, singles);
    if (last.empty()) return last;
    const auto unexplained = find_unexplained(golden_, actual_, pairs_, last, {}, judge_.noise());
    return find_lacking(golden, actual, pairs_, unexplained, judge_.noise(), judge_.gains()->uncertain());
  }

  // In the pairs; their end if it is unknown.
  std::size_t place_of(const OperatorComparison& op) const {
    const bool is_golden = op.golden != nullptr;
    const auto execution = find_execution((is_golden ? golden_ : actual_).runs(), op.run());
    const auto run = is_golden ? &OperatorPair::golden : &OperatorPair::actual;
    const auto pair = execution ? std::ranges::find(pairs_, *execution, run) : pairs_.end();
    return static_cast<std::size_t>(pair - pairs_.begin());
  }

  // In the steps that do not list views.
  void look_for_other_view() {
    if (!comparison_.first_bad || relation_.is_across || relation_.sharded != nullptr) return;
    const Verdict verdict = comparison_.first_bad->verdict;
    if (!comparison_.view_before_first_bad.empty() ||
        (verdict != Verdict::inherited && verdict != Verdict::not_comparable))
      return;
    comparison_.view_before_first_bad =
        find_other_view(golden_.runs(), actual_.runs(), pairs_, *comparison_.first_bad);
  }

  // What follows a missing gradient differs, and is not to blame.
  void look_for_one_sided_backward() {
    if (!comparison_.first_bad || relation_.is_across || relation_.sharded != nullptr) return;
    const auto place = find_one_sided_backward(golden_.runs(), actual_.runs(), pairs_);
    auto op = place ? make_single(*place) : std::nullopt;
    if (!op) return;
    op->cause = explain_one_sided_backward(op->run(), op->golden != nullptr);
    const OperatorComparison& first = *comparison_.first_bad;
    const bool is_open = first.verdict == Verdict::inherited || first.verdict == Verdict::input_differs ||
                         first.verdict == Verdict::missing || first.verdict == Verdict::extra;
    if (is_open && (place_of(first) >= *place || RewrittenModules::are_together(first.run(), op->run())))
      set_first_bad(*op);
    comparison_.one_sided_backward = std::move(op);
  }

  // The other run has another operator for it, which hides the argument.
  void look_for_other_dropout() {
    if (!comparison_.first_bad || relation_.is_across || relation_.sharded != nullptr) return;
    const auto dropout = find_other_dropout(golden_.runs(), actual_.runs(), pairs_);
    auto op = dropout ? make_single(dropout->place) : std::nullopt;
    if (!op) return;
    op->cause = dropout->text;
    const OperatorComparison& first = *comparison_.first_bad;
    const bool is_part = (first.verdict == Verdict::missing || first.verdict == Verdict::extra) &&
                         RewrittenModules::are_together(first.run(), op->run());
    if (is_part || place_of(first) >= dropout->place) set_first_bad(*op);
    comparison_.other_dropout = std::move(op);
  }

  void explain_first_bad() {
    if (!comparison_.first_bad || relation_.sharded != nullptr) return;
    OperatorComparison& op = *comparison_.first_bad;
    if (!relation_.is_across && find_cause_of_size(place_of(op))) return;
    const bool is_open = op.verdict == Verdict::inherited || op.verdict == Verdict::not_comparable;
    if (!is_open || !op.cause.empty()) return;
    if (relation_.is_across) return static_cast<void>(op.cause = explain_numbers(op));
    InputOrigin origin = find_input_origin(op, golden_.runs(), actual_.runs(), pairs_);
    auto single = origin.single ? make_single(*origin.single) : std::nullopt;
    // In a module that each run computes by operators of its own, it may be right.
    if (!single || find_rewritten(golden_.runs(), actual_.runs(), pairs_).contains(op.run())) {
      op.cause = std::move(origin.text);
      comparison_.maker = std::move(single);
      return;
    }
    set_single(std::move(*single), op.run());
  }

  // Sizes that a program takes from a tensor are numbers to the operators that get them: where a tensor of
  // one run is longer, as one that is padded, arange is called with another end.
  bool find_cause_of_size(std::size_t maker) {
    for (const OperatorComparison& reader : judge_.readers_behind_maker()) {
      const InputOrigin origin = find_input_origin(reader, golden_.runs(), actual_.runs(), pairs_);
      auto single = origin.single && *origin.single < maker ? make_single(*origin.single) : std::nullopt;
      if (!single) continue;
      set_single(std::move(*single), reader.run());
      return true;
    }
    return false;
  }

  void set_single(OperatorComparison single, const dump::OperatorRun& reader) {
    single.cause = std::string("only in ") + (single.golden != nullptr ? "golden" : "actual") + ", and " +
                   one_line(operator_name(reader)) + ", which reads what it makes, differs";
    set_first_bad(std::move(single));
  }

  // An operator that only one run has; nothing where that proves nothing, as in a log that does not list all.
  std::optional<OperatorComparison> make_single(std::size_t place) const {
    OperatorComparison op = make_operator(pairs_[place], golden_, actual_, relation_);
    const bool is_golden = op.golden != nullptr;
    if (op.lacks_slots || !op.left_out.empty() ||
        (is_golden ? unfinished_.excuses_actual(op.run()) : unfinished_.excuses_golden(op.run())))
      return std::nullopt;
    op.verdict = is_golden ? Verdict::missing : Verdict::extra;
    return op;
  }

  void set_first_bad(OperatorComparison op) {
    comparison_.before_first_bad = {};
    comparison_.view_before_first_bad = {};
    comparison_.first_bad = std::move(op);
  }

  // Another machine or version may have a kernel that rounds so.
  void note_small_error() {
    constexpr double kSmall = 1e-4;
    if (!has_other_environment_ || !comparison_.first_bad) return;
    const OperatorComparison& op = *comparison_.first_bad;
    const auto is_small = [](const SlotComparison& slot) {
      return slot.verdict != Verdict::own_error || (slot.metrics && slot.metrics->relative_l2 < kSmall);
    };
    if (op.verdict == Verdict::own_error && op.cause.empty() && std::ranges::all_of(op.slots, is_small))
      comparison_.notes.emplace_back(
          "the first bad operator differs by little, and may only round otherwise: opdump blame runs it "
          "again");
  }

  void look_at_regions() {
    regions_ = compare_regions(golden_, actual_, pairs_);
    note_backward_of_regions();
    if (!regions_.wrong) {
      note_equal_regions(regions_.golden.size(), "golden", "actual");
      note_equal_regions(regions_.actual.size(), "actual", "golden");
      return;
    }
    const OperatorComparison op = make_region(*regions_.wrong);
    const std::string source = op.run().op != nullptr ? model::format_source(*op.run().op) : "";
    comparison_.notes.push_back(operator_name(op.run()) + (source.empty() ? "" : " at " + source) +
                                " is the first " + describe_region(*regions_.wrong));
  }

  void note_equal_regions(std::size_t count, std::string_view side, std::string_view other) {
    if (count > 0)
      comparison_.notes.push_back(
          std::string(other) + " has the results of " +
          (count == 1 ? "the compiled region" : "all " + counted(count, "compiled region")) + " of " +
          std::string(side));
  }

  // A loss, but none that leaves a result open.
  void note_backward_of_regions() {
    const bool of_golden = lacks_backward_of_regions(golden_), of_actual = lacks_backward_of_regions(actual_);
    if (of_golden || of_actual)
      comparison_.notes.push_back("the backward pass of compiled regions is not recorded in " +
                                  std::string(!of_actual   ? "golden"
                                              : !of_golden ? "actual"
                                                           : "golden and actual") +
                                  ": of it, gradients that operators read are compared");
  }

  // As an operator that the other run lacks.
  OperatorComparison make_region(const Regions::Wrong& region) const {
    OperatorPair pair = pairs_[region.place];
    (region.is_golden ? pair.actual : pair.golden) = OperatorPair::kNone;
    return make_operator(pair, golden_, actual_, relation_);
  }

  static std::string describe_region(const Regions::Wrong& region) {
    return std::string("compiled region with a result that ") + (region.is_golden ? "actual" : "golden") +
           " lacks";
  }

  void look_for_wrong_region() {
    const auto& wrong = regions_.wrong;
    if (!wrong || !comparison_.first_bad || place_of(*comparison_.first_bad) < wrong->place) return;
    OperatorComparison op = make_region(*wrong);
    const Verdict verdict = comparison_.first_bad->verdict;
    if (has_own_random_numbers(op.run().form.get()))  // no kernel need be wrong
      op.cause =
          "generated code makes other random numbers than eager operators: to compare, record it again with "
          "torch._inductor.config.fallback_random = True";
    else if (verdict == Verdict::own_error || verdict == Verdict::argument_differs)
      return;
    else
      op.cause = "a " + describe_region(*wrong);
    op.verdict = wrong->is_golden ? Verdict::missing : Verdict::extra;
    set_first_bad(op);
    comparison_.wrong_region = std::move(op);
  }

  Result<> compare_batch(const Batch& batch) {
    std::vector<OperatorComparison> operators;
    for (std::size_t i = batch.first; i < batch.last; ++i)
      operators.push_back(make_operator(pairs_[i], golden_, actual_, relation_));
    OPDUMP_CHECK_OK(measure(operators));
    for (OperatorComparison& op : operators) {
      if (relation_.sharded == nullptr) collectives_.look_at(op, options_);
      judge_.judge(op);
      questions_.add(op);
      if (options_.take) options_.take(op);
    }
    return ok();
  }

  const dump::DumpSet &golden_, &actual_;
  const std::vector<OperatorPair>& pairs_;
  RunRelation relation_;
  const CompareOptions& options_;
  Comparison comparison_;
  Regions regions_;
  std::vector<std::string> unfinished_reasons_;
  Unfinished unfinished_;
  bool has_other_environment_ = false;
  SystematicDifferences systematic_;
  Collectives collectives_;
  Judge judge_;
  OpenQuestions questions_;
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
  const TailsOfBoth tails{.golden = find_tails(golden), .actual = find_tails(actual)};
  const dump::Runs &golden_runs = golden.runs(), &actual_runs = actual.runs();
  const bool is_across =
      options.across.value_or(!options.map.empty() || are_of_different_frameworks(golden, actual) ||
                              is_one_saved_in_other_layout(golden_runs, actual_runs));
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
  OPDUMP_TRY(Pairing pairing,
             is_across ? pair_across(golden_runs, actual_runs, tails, options.map, options.threads)
                       : Result<Pairing>(sharded ? sharded->pair(tails)
                                                 : pair_operators(golden_runs, actual_runs, tails)));
  if (!is_across && !sharded) join_fused_activations(golden_runs, actual_runs, pairing.pairs);
  if (quantisation) {
    quantisation->arrange(pairing.pairs, is_across);
    pairing.notes.push_back(quantisation->note());
  }
  const RunRelation relation{.is_across = is_across,
                             .sharded = sharded ? &*sharded : nullptr,
                             .quantisation = quantisation ? &*quantisation : nullptr};
  return Comparer(golden, actual, pairing, options, relation).compare();
}

}  // namespace opdump::compare
