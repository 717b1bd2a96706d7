#include "compare/judge/verdict.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text/text.h"
#include "compare/facts/arguments.h"
#include "compare/facts/operator_kind.h"
#include "compare/key_slots.h"
#include "compare/measure/sharded/measure_shards.h"
#include "compare/names.h"
#include "compare/pairs/quantised/quantisation.h"
#include "compare/rules/equivalence.h"
#include "compare/rules/views.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// The recording says that there is no data.
bool is_undumped(const dump::OperatorRun& run, const dump::Slot& slot) {
  return run.op != nullptr && !slot.has_data();
}

bool is_made_of_others(const std::shared_ptr<const dump::OperatorRun>& run) {
  return run != nullptr && run->originals() != nullptr;
}

constexpr std::string_view kRewritten = "the engine computes the same of other inputs";

// Axes, sizes and the like, of which the result shows whether the engine changed them rightly.
bool is_number_for_engine(const OperatorComparison& op, const SlotComparison& slot) {
  return is_rewritten_by_engine(op.golden.get(), op.actual.get()) && slot.verdict != Verdict::match &&
         slot.golden != nullptr && slot.actual != nullptr && !model::is_floating(slot.golden->dtype);
}

// Of a tensor that the engine has transposed.
bool gives_another_shape(const OperatorComparison& op) {
  if (op.run().type != "Shape" || !is_rewritten_by_engine(op.golden.get(), op.actual.get())) return false;
  const std::vector<dump::Slot>&golden = op.golden->slots, &actual = op.actual->slots;
  return !golden.empty() && !actual.empty() && golden.front().shape != actual.front().shape;
}

// An input that the operator replaces without reading it, as copy_ does with memory that `empty` has made.
bool is_overwritten(const OperatorComparison& op, const SlotComparison& slot) {
  const auto is_output = [](const SlotComparison& other) { return side_of(other) == model::Side::output; };
  const auto outputs = static_cast<std::size_t>(std::ranges::count_if(op.slots, is_output));
  return model::has_trait(op.run().type, model::Trait::overwrites) && slot.golden != nullptr &&
         !is_output(slot) && slot.golden->index < outputs;
}

bool is_of_onnx(const OperatorComparison& op) {
  const auto is_onnx = [](const auto& run) {
    return run != nullptr && run->form != nullptr && run->form->is_of_onnx();
  };
  return is_onnx(op.golden) && is_onnx(op.actual);
}

// Why nothing is said of a slot; empty if something is. An engine gives operators inputs that they had not.
std::string_view left_out(const OperatorComparison& op, const SlotComparison& slot) {
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  const bool is_single = slot.golden == nullptr || slot.actual == nullptr;
  if (is_paired && is_overwritten(op, slot)) return "overwritten without being read";
  if (op.is_across && is_paired && is_single) return "the other framework has no such tensor";
  if (op.lacks_slots && is_paired && (is_single || !slot.golden->has_data() || !slot.actual->has_data()))
    return "one of the runs has no value of it";
  if (!op.shards.empty() && is_single) return "the other run has no such tensor";
  if (!op.shards.empty() && !op.left_out.empty()) return op.left_out;
  if (!slot.is_cut_in_rows && looks_up_own_rows(op)) return "each rank looks up the rows that it has";
  if (gives_another_shape(op)) return "the engine computes in another layout";
  if (is_single && side_of(slot) == model::Side::output && is_of_onnx(op))
    return "optional, and not wanted in the other run";
  if (is_paired && (side_of(slot) == model::Side::output || is_quantised_input(op, slot))) return {};
  if (!op.left_out.empty()) return op.left_out;
  if (is_number_for_engine(op, slot)) return kRewritten;
  const bool is_put_in = (slot.golden == nullptr && is_made_of_others(op.actual)) ||
                         (slot.actual == nullptr && is_made_of_others(op.golden));
  return is_paired && is_put_in ? "added by the engine" : std::string_view();
}

Verdict verdict_of(const Evidence& evidence) {
  const Evidence::OfSide &inputs = evidence.inputs, &outputs = evidence.outputs;
  if (outputs.differs) return inputs.differs ? Verdict::inherited : Verdict::own_error;
  if (outputs.is_unpaired) return Verdict::not_comparable;
  if (inputs.differs) return Verdict::input_differs;
  // An input that one side did not record says nothing about the operator.
  if (outputs.is_unreadable || inputs.is_unreadable || inputs.is_unpaired) return Verdict::unreadable;
  return outputs.is_compared || inputs.is_compared ? Verdict::match : Verdict::skipped;
}

// Absence is a difference only where the other side recorded that step, and was recorded to its end.
bool is_bad(const OperatorComparison& op, const Unfinished& unfinished) {
  const bool is_absent = op.verdict == Verdict::missing || op.verdict == Verdict::extra;
  if (op.is_alone ||
      (is_absent && (runs_ahead(op.run()) || model::has_trait(op.run().type, model::Trait::copies))))
    return false;
  if (op.verdict == Verdict::missing) return !unfinished.excuses_actual(*op.golden);
  if (op.verdict == Verdict::extra) return !unfinished.excuses_golden(*op.actual);
  return is_difference(op.verdict);
}

constexpr std::size_t kMostReaders = 8;  // in which the cause of another size is looked for
constexpr std::size_t kMostOpen = 4096;  // operators that may be another way to compute the same
// Another generator, or autocast, explains outputs that differ. Where the generators are unknown, a random
// operator with the same inputs asks for the seed.
std::string cause_in_state(const OperatorComparison& op) {
  const StateDifference state = find_state_difference(op.golden->form.get(), op.actual->form.get());
  if (!state.generator.empty()) return "it draws random numbers, and " + state.generator;
  const bool is_open =
      op.verdict == Verdict::own_error && model::has_trait(op.run().type, model::Trait::random);
  if (is_open && !draw_the_same(op.golden->form.get(), op.actual->form.get()))
    return "it draws random numbers (another seed?)";
  return state.autocast;
}

// Of several ranks, the first one with an output that differs against one that is right, or else golden.
std::optional<ArgumentDifference> find_difference(const OperatorComparison& op) {
  const auto bad = std::ranges::find_if(op.slots, [](const SlotComparison& slot) {
    return slot.sharded != nullptr && !slot.wrong_ranks.empty() && side_of(slot) == model::Side::output;
  });
  if (bad == op.slots.end()) return find_argument_difference(*op.golden, *op.actual);
  const std::vector<std::uint32_t>& ranks = bad->sharded->ranks;
  const auto is_wrong = [&](std::uint32_t rank) { return std::ranges::count(bad->wrong_ranks, rank) > 0; };
  const auto place_of = [&](auto rank) { return static_cast<std::size_t>(rank - ranks.begin()); };
  const auto wrong = std::ranges::find_if(ranks, is_wrong), right = std::ranges::find_if_not(ranks, is_wrong);
  const dump::OperatorRun& shard = *op.shards[place_of(wrong)];
  if (right != ranks.end() && op.shards[place_of(right)] != nullptr)
    return find_argument_difference(
        *op.shards[place_of(right)], shard,
        {.golden = "on rank " + std::to_string(*right), .actual = "on rank " + std::to_string(*wrong)});
  return bad->sharded->is_golden ? find_argument_difference(shard, *op.actual, {.are_shards = true})
                                 : find_argument_difference(*op.golden, shard, {.are_shards = true});
}

// Of an operator that only hands on a difference, in a number of inputs: which. Nothing if it may be at fault
// itself: what a mask or a choice leaves of a difference says nothing of it.
std::optional<std::vector<std::pair<std::uint32_t, std::uint32_t>>> handed_on(const OperatorComparison& op) {
  const bool is_open = op.verdict == Verdict::inherited || op.verdict == Verdict::input_differs;
  const bool is_plain = op.cause.empty() && op.left_out.empty() && op.shards.empty() && !op.other_rank &&
                        !op.is_across && !op.lacks_slots && !op.is_quantised;
  if (!is_open || !is_plain) return std::nullopt;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inputs;
  bool has_numbers = false;
  for (const SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr) return std::nullopt;
    const bool is_output = side_of(slot) == model::Side::output;
    has_numbers |= is_output && model::is_floating(slot.golden->dtype);
    if (!is_output && is_difference(slot.verdict))
      inputs.emplace_back(slot.golden->index, slot.actual->index);
  }
  return has_numbers && !inputs.empty() ? std::optional(inputs) : std::nullopt;
}

// Whether one side is an operator of ONNX Runtime that adds what it reads before it does what the other does.
bool reads_terms(const OperatorComparison& op) {
  const auto is_one = [&](const auto& run) { return model::has_trait(run->type, model::Trait::adds_first); };
  return op.golden != nullptr && op.actual != nullptr && is_one(op.golden) != is_one(op.actual);
}

void add_slot(const SlotComparison& slot, Evidence::OfSide& side) {
  side.differs |= is_difference(slot.verdict);
  side.is_unpaired |= slot.verdict == Verdict::missing || slot.verdict == Verdict::extra;
  side.is_unreadable |= slot.verdict == Verdict::unreadable;
  side.is_compared |= slot.verdict != Verdict::skipped;
}

// An axis, or the sizes of a tensor.
bool is_place(const SlotComparison& slot) {
  return slot.golden != nullptr && slot.actual != nullptr && slot.golden->shape &&
         slot.golden->shape->dims().size() <= 1 && !model::is_floating(slot.golden->dtype);
}

// Axes and limits of ONNX are attributes in some versions of its operators, and inputs in others.
bool is_attribute_elsewhere(const OperatorComparison& op, const SlotComparison& slot) {
  const dump::Slot* const single = slot.golden == nullptr ? slot.actual : slot.golden;
  return (slot.golden == nullptr) != (slot.actual == nullptr) && is_of_onnx(op) && single->shape &&
         single->shape->dims().size() <= 1;
}

// An engine that gives the same may have other weights, axes and layouts; another framework other axes.
void leave_out_rewritten_inputs(OperatorComparison& op, Evidence& evidence) {
  if (evidence.outputs.differs || !evidence.outputs.is_compared) return;
  const bool is_rewritten = is_rewritten_by_engine(op.golden.get(), op.actual.get()) || reads_terms(op);
  evidence.inputs = {};
  for (SlotComparison& slot : op.slots) {
    if (side_of(slot) == model::Side::output) continue;
    if (slot.verdict != Verdict::match &&
        (is_rewritten || (op.is_across && is_place(slot)) || is_attribute_elsewhere(op, slot))) {
      slot.verdict = Verdict::skipped;
      slot.metrics.reset();
      slot.reason = kRewritten;
    }
    add_slot(slot, evidence.inputs);
  }
}

// An operator that makes numbers, as arange and full do, of another size in each run.
bool makes_other_size(const OperatorComparison& op) {
  const auto has_other_shape = [](const SlotComparison& slot) {
    return slot.golden != nullptr && slot.actual != nullptr && slot.golden->shape != slot.actual->shape;
  };
  return op.verdict == Verdict::argument_differs && kind_of(op.run().type).role == OperatorRole::makes &&
         std::ranges::any_of(op.slots, has_other_shape);
}

// What the user wants to hear of first: the kind, then the step.
// What another rank has handed on comes last: the other rank has the answer.
auto urgency(const OperatorComparison& op, bool is_handed_on = false) {
  return std::pair(!has_bad_output(op.verdict) || is_handed_on, op.run().step);
}

}  // namespace

void add_evidence(OperatorComparison& op, const Unfinished& unfinished, Evidence& evidence) {
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  for (SlotComparison& slot : op.slots) {
    if (const std::string_view why = left_out(op, slot); !why.empty()) {
      slot.verdict = Verdict::skipped;
      slot.metrics.reset();
      slot.wrong_ranks.clear();
      slot.reason = why;
    }
    if ((slot.actual == nullptr && unfinished.actual_is_silent && is_undumped(*op.golden, *slot.golden)) ||
        (slot.golden == nullptr && unfinished.golden_is_silent && is_undumped(*op.actual, *slot.actual)))
      slot.verdict = Verdict::skipped;
    if (is_paired && ((slot.verdict == Verdict::missing && unfinished.excuses_actual(*op.actual)) ||
                      (slot.verdict == Verdict::extra && unfinished.excuses_golden(*op.golden))))
      slot.verdict = Verdict::unreadable;
    add_slot(slot, side_of(slot) == model::Side::output ? evidence.outputs : evidence.inputs);
    evidence.has_slots = true;
  }
  leave_out_rewritten_inputs(op, evidence);
  evidence.inputs.differs |= op.other_rank.has_value();
}

void judge_operator(OperatorComparison& op, const Evidence& evidence) {
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  const bool is_skipped = evidence.has_slots && !evidence.inputs.is_compared && !evidence.outputs.is_compared;
  op.verdict = is_paired || is_skipped ? verdict_of(evidence)
               : op.golden == nullptr  ? Verdict::extra
                                       : Verdict::missing;
  for (SlotComparison& slot : op.slots)
    if (slot.verdict == Verdict::own_error)
      slot.verdict = side_of(slot) == model::Side::output ? op.verdict : Verdict::input_differs;
}

void Judge::judge(OperatorComparison& op) {
  Evidence evidence;
  add_evidence(op, unfinished_, evidence);
  judge_operator(op, evidence);
  name_ranks(op);
  find_cause(op);
  const bool reads_rounding = rounding_.excuse(op);
  quantisation_.excuse(op);
  if (gains_) gains_->judge(op);
  if (op.cause.empty()) op.cause = explain_sums(op);
  if (op.cause.empty() && op.other_rank && has_bad_output(op.verdict))
    op.cause = "the inputs of rank " + std::to_string(op.other_rank->rank) + " differ";
  if (op.cause.empty() && has_bad_output(op.verdict)) op.cause = cause_in_state(op);
  op.may_be_unseen = (op.verdict == Verdict::missing && unfinished_.excuses_actual(*op.golden)) ||
                     (op.verdict == Verdict::extra && unfinished_.excuses_golden(*op.actual));
  count_slots(op);
  count(op);
  note_bad(op, reads_rounding);
}

// An argument or a constant that differs explains an output if no other input differs.
void Judge::find_cause(OperatorComparison& op) const {
  const bool only_reads = op.verdict == Verdict::input_differs;
  if (!has_bad_output(op.verdict) && !only_reads) return;
  const auto difference = find_difference(op);
  if (!difference) return;
  const bool has_other = std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
    return side_of(slot) == model::Side::input && is_difference(slot.verdict) &&
           !difference->constants.contains(slot.golden->index);
  });
  if (!has_other || !only_reads) op.cause = difference->text;
  if (has_other || only_reads) return;
  for (SlotComparison& slot : op.slots)
    if (slot.verdict == op.verdict) slot.verdict = Verdict::argument_differs;
  op.verdict = Verdict::argument_differs;
}

void Judge::count(const OperatorComparison& op) {
  Coverage& coverage = so_far_.coverage;
  if (op.golden != nullptr) ++coverage.golden_operators;
  if (op.actual != nullptr) ++coverage.actual_operators;
  if (op.golden != nullptr && op.actual != nullptr) ++coverage.paired_operators;
  ++so_far_.verdicts[static_cast<std::size_t>(op.verdict)];
  measured_difference_ |= is_difference(op.verdict);
  open_question_ |= op.verdict == Verdict::unreadable;
  if (!rank_) rank_ = op.run().rank;
  so_far_.has_ranks |= *rank_ != op.run().rank;
}

void Judge::count_slots(const OperatorComparison& op) {
  Coverage& coverage = so_far_.coverage;
  for (const SlotComparison& slot : op.slots) {
    if (slot.verdict == Verdict::skipped) {
      ++coverage.skipped_slots;
      continue;
    }
    if (slot.golden != nullptr) ++coverage.golden_slots;
    if (!slot.metrics &&
        !(slot.from_statistics && (slot.verdict == Verdict::match || is_difference(slot.verdict))))
      continue;
    ++coverage.compared_slots;
    coverage.compared_bytes += slot.bytes;
  }
}

void Judge::note_bad(const OperatorComparison& op, bool reads_rounding) {
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  if (last_step_ != op.run().step) {
    unpaired_ = {};
    view_.clear();
    single_.reset();
  }
  std::string view = describe_other_view(op);
  if (!view.empty() && (view_.empty() || !model::has_trait(op.run().type, model::Trait::reshapes)))
    view_ = std::move(view);
  const bool is_bad_here = is_bad(op, unfinished_);
  if (is_bad_here && !is_paired) singles_.push_back(judged_);
  if (is_bad_here && is_paired && !has_other_pairs_) {
    auto inputs = reads_rounding ? std::nullopt : handed_on(op);
    has_other_pairs_ = !inputs || open_pairs_.size() == kMostOpen;
    if (!has_other_pairs_) open_pairs_.push_back({judged_, std::move(*inputs)});
  }
  ++judged_;
  if (op.other_rank) fed_rank_ = op.run().rank;
  const bool is_handed_on = fed_rank_ == op.run().rank && op.verdict == Verdict::inherited;
  const auto note = [&](FirstBad& first) {
    if (first.op && urgency(op, is_handed_on) >= urgency(*first.op, first.is_handed_on)) return;
    first = {.op = op,
             .before = is_paired ? unpaired_ : UnpairedOperators(),
             .view = op.verdict == Verdict::inherited ? view_ : "",
             .is_handed_on = is_handed_on};
    if (!gains_ || !is_paired || !op.cause.empty()) return;
    first.single = single_;
    first.excess = gains_->excess();
  };
  const bool is_behind_maker = first_bad_.op && makes_other_size(*first_bad_.op) && is_bad_here &&
                               is_paired && first_bad_.op->run().step == op.run().step &&
                               readers_.size() < kMostReaders;
  if (is_behind_maker && op.verdict == Verdict::inherited) readers_.push_back(op);
  if (is_bad_here) note(first_bad_);
  if (is_bad_here && is_paired) note(first_paired_);
  last_step_ = op.run().step;
  if (is_paired) {
    unpaired_ = {};
    single_.reset();
  } else if (op.verdict != Verdict::skipped) {
    ++(op.golden != nullptr ? unpaired_.only_golden : unpaired_.only_actual);
    const auto has_data = [](const SlotComparison& slot) {
      return side_of(slot) == model::Side::output &&
             (slot.golden != nullptr ? slot.golden : slot.actual)->has_data();
    };
    if (gains_ && is_bad_here && !single_ && std::ranges::any_of(op.slots, has_data)) single_ = op;
  }
}

std::span<const std::size_t> Judge::open_singles() const {
  const bool is_settled =
      so_far_.coverage.paired_operators == 0 || (first_bad_.op && has_bad_output(first_bad_.op->verdict));
  return is_settled ? std::span<const std::size_t>() : singles_;
}

std::span<const OpenPair> Judge::open_pairs() const {
  return has_other_pairs_ ? std::span<const OpenPair>() : open_pairs_;
}

void Judge::excuse_pairs() {
  for (const Verdict verdict : {Verdict::inherited, Verdict::input_differs}) {
    std::uint64_t& count = so_far_.verdicts[static_cast<std::size_t>(verdict)];
    so_far_.verdicts[static_cast<std::size_t>(Verdict::rounding)] += std::exchange(count, 0);
  }
  first_bad_ = first_paired_ = {};
}

void Judge::settle_singles(std::optional<OperatorComparison> first) {
  first_bad_ = first_paired_;
  if (!first) return;
  Evidence evidence;
  add_evidence(*first, unfinished_, evidence);
  judge_operator(*first, evidence);
  if (!first_bad_.op || urgency(*first) < urgency(*first_bad_.op, first_bad_.is_handed_on))
    first_bad_ = {.op = std::move(first)};
}

// Says why, and of which operator.
void Judge::conclude_gains() {
  if (const auto count = gains_->rounding_count(); count > 0)
    so_far_.notes.push_back("the dumps lack what operators read: " + counted(count, "operator") +
                            (count == 1 ? " differs" : " differ") +
                            " by no more than is usual without a fault");
  if (!first_bad_.excess.empty() && !first_bad_.single)
    so_far_.notes.push_back("in " + one_line(operator_name(so_far_.first_bad->run())) + ", " +
                            first_bad_.excess);
  if (!first_bad_.single) return;
  so_far_.first_bad = std::move(first_bad_.single);
  so_far_.before_first_bad = {};
  so_far_.first_bad->cause = std::string("only in ") +
                             (so_far_.first_bad->golden != nullptr ? "golden" : "actual") +
                             ", and what follows differs";
}

void Judge::conclude(Comparison& comparison) {
  so_far_.incomplete = std::move(comparison.incomplete);
  so_far_.notes = std::move(comparison.notes);
  so_far_.is_across = comparison.is_across;
  so_far_.first_bad = std::move(first_bad_.op);
  so_far_.before_first_bad = first_bad_.before;
  so_far_.view_before_first_bad = std::move(first_bad_.view);
  if (gains_) conclude_gains();
  if (std::string flips = rounding_.describe_flips(); !flips.empty() && !so_far_.first_bad)
    so_far_.notes.push_back(std::move(flips));
  comparison = std::move(so_far_);
  if (comparison.coverage.compared_slots == 0 && !measured_difference_)
    comparison.outcome = Answer::nothing_compared;
  else if (comparison.first_bad)
    comparison.outcome = Answer::differs;
  else
    comparison.outcome = open_question_ || !comparison.incomplete.empty() ? Answer::incomplete : Answer::same;
}

}  // namespace opdump::compare
