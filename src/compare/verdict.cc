#include "compare/verdict.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text/text.h"
#include "compare/across/operator_kind.h"
#include "compare/arguments.h"
#include "compare/choices/choice.h"
#include "compare/equivalence.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/recompute.h"
#include "compare/runs/quantisation.h"
#include "compare/runs/views.h"
#include "compare/sharded/measure_shards.h"
#include "model/overwriting.h"

namespace opdump::compare {
namespace {

bool is_difference(Verdict verdict) {
  return verdict == Verdict::own_error || verdict == Verdict::inherited ||
         verdict == Verdict::argument_differs || verdict == Verdict::input_differs ||
         verdict == Verdict::not_comparable;
}

// The recording says that there is no data.
bool is_undumped(const dump::OperatorRun& run, const dump::Slot& slot) {
  return run.op != nullptr && !slot.has_data();
}

bool is_made_of_others(const std::shared_ptr<const dump::OperatorRun>& run) {
  return run != nullptr && run->op != nullptr && run->op->original_names;
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
  return model::only_overwrites(op.run().type) && slot.golden != nullptr && !is_output(slot) &&
         slot.golden->index < outputs;
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
  if (op.is_alone || (is_absent && (runs_ahead(op.run()) || only_moves(op.run().type)))) return false;
  if (op.verdict == Verdict::missing) return !unfinished.excuses_actual(*op.golden);
  if (op.verdict == Verdict::extra) return !unfinished.excuses_golden(*op.actual);
  return is_difference(op.verdict);
}

// How much larger than the differences of its inputs that of an output may be, both relative. Operators that
// divide by what may be tiny, as optimizers do, have no such limit in practice.
constexpr double kGain = 32, kDivisionGain = 1e5;
// The same of inputs that differ by much already.
constexpr double kAmplifiedGain = 4;
// The distance of tensors of which each run has other rows, or other places.
constexpr double kUnrelated = 1.5;
constexpr std::size_t kMostOpen = 4096;  // operators that may be another way to compute the same
// What hardly exceeds its inputs was not made here: it may exceed the largest rounding, too, up to so many
// times. Of runs in two precisions, it may be kAmplifiedGain times its inputs: those of attention's backward
// pass are.
constexpr double kPassedOn = 1.1, kMostPassedOn = 2;

bool divides(std::string_view type) {
  constexpr std::string_view kDividing[] = {"div",   "div_", "addcdiv", "addcdiv_",     "reciprocal",
                                            "rsqrt", "sqrt", "sqrt_",   "_fused_adam_", "_fused_adamw_"};
  return std::ranges::find(kDividing, type) != std::end(kDividing) || type.starts_with("_foreach_");
}

// Another generator, or autocast, explains outputs that differ. Where the generators are unknown, a random
// operator with the same inputs asks for the seed.
std::string cause_in_state(const OperatorComparison& op) {
  const StateDifference state = find_state_difference(op.golden->form.get(), op.actual->form.get());
  if (!state.generator.empty()) return "it draws random numbers, and " + state.generator;
  const bool is_open = op.verdict == Verdict::own_error && is_random(op.run().type);
  if (is_open && !draw_the_same(op.golden->form.get(), op.actual->form.get()))
    return "it draws random numbers (another seed?)";
  return state.autocast;
}

// What rounding grows to in the depth of a network, relative to the whole tensor. Of a run in another
// precision it is that of the coarser type.
double largest_rounding(const SlotComparison& slot, bool has_types) {
  double rtol = default_tolerance(slot.dtype).rtol;
  if (has_types) rtol = std::max(rtol, default_tolerance(slot.actual->dtype).rtol);
  return rtol > 1e-4 ? 8 * rtol : 100 * rtol;
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

// Did both runs compute the outputs right, from inputs that differ? Nothing where that is not known.
std::optional<bool> is_amplified(const OperatorComparison& op) {
  if (!op.shards.empty()) return std::nullopt;
  const auto golden = is_computed_right(*op.golden), actual = is_computed_right(*op.actual);
  return golden && actual ? std::optional(*golden && *actual) : std::nullopt;
}

// Whether a distance says how much two tensors differ: they have the same rows, and numbers that are no
// places.
bool has_distance(const SlotComparison& slot) {
  return slot.metrics && slot.golden != nullptr && model::is_floating(slot.golden->dtype);
}

// Did both runs choose other places, and right, each of its own numbers?
bool chooses_otherwise(const OperatorComparison& op) {
  const auto is_other_place = [](const SlotComparison& slot) {
    return side_of(slot) == model::Side::output && slot.metrics && is_difference(slot.verdict) &&
           !has_distance(slot);
  };
  return op.shards.empty() && std::ranges::any_of(op.slots, is_other_place) &&
         chooses_right(*op.golden) == true && chooses_right(*op.actual) == true;
}

// Where a framework computes at once what the other one takes several operators for, which round in between.
bool is_of_other_operators(const OperatorComparison& op) {
  return op.is_across && kind_of(op.golden->type).name != kind_of(op.actual->type).name;
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
  constexpr std::array<std::string_view, 4> kTypes{"BiasGelu", "FastGelu", "SkipLayerNormalization",
                                                   "SkipSimplifiedLayerNormalization"};
  const auto is_one = [&](const auto& run) { return std::ranges::find(kTypes, run->type) != kTypes.end(); };
  return op.golden != nullptr && op.actual != nullptr && is_one(op.golden) != is_one(op.actual);
}

// An engine that gives the same may have other weights, axes and layouts.
void leave_out_rewritten_inputs(OperatorComparison& op, Evidence& evidence) {
  if (evidence.outputs.differs || !evidence.outputs.is_compared) return;
  evidence.inputs = {};
  for (SlotComparison& slot : op.slots) {
    if (side_of(slot) == model::Side::output || slot.verdict == Verdict::match) continue;
    slot.verdict = Verdict::skipped;
    slot.metrics.reset();
    slot.reason = kRewritten;
  }
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
    Evidence::OfSide& side = side_of(slot) == model::Side::output ? evidence.outputs : evidence.inputs;
    side.differs |= is_difference(slot.verdict);
    side.is_unpaired |= slot.verdict == Verdict::missing || slot.verdict == Verdict::extra;
    side.is_unreadable |= slot.verdict == Verdict::unreadable;
    side.is_compared |= slot.verdict != Verdict::skipped;
    evidence.has_slots = true;
  }
  if (is_rewritten_by_engine(op.golden.get(), op.actual.get()) || reads_terms(op))
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
  const bool reads_rounding = excuse_rounding(op);
  excuse_quantisation(op);
  if (gains_) gains_->judge(op);
  if (op.cause.empty()) op.cause = explain_sums(op);
  if (op.cause.empty() && op.other_rank && has_bad_output(op.verdict))
    op.cause = "the inputs of rank " + std::to_string(op.other_rank->rank) + " differ";
  if (op.cause.empty() && has_bad_output(op.verdict)) op.cause = cause_in_state(op);
  count_slots(op);
  count(op);
  note_bad(op, reads_rounding);
}

// An argument or a constant that differs explains an output if no other input differs.
void Judge::find_cause(OperatorComparison& op) const {
  if (!has_bad_output(op.verdict)) return;
  const auto difference = find_difference(op);
  if (!difference) return;
  op.cause = difference->text;
  const bool has_other = std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
    return side_of(slot) == model::Side::input && is_difference(slot.verdict) &&
           !difference->constants.contains(slot.golden->index);
  });
  if (has_other) return;
  for (SlotComparison& slot : op.slots)
    if (slot.verdict == op.verdict) slot.verdict = Verdict::argument_differs;
  op.verdict = Verdict::argument_differs;
}

// An output that differs by no more than what the small differences of its inputs can grow to. Inputs count
// if an earlier operator made a difference of that size: those of weights and data do not. What is left of
// terms that cancel is compared with the terms. Where an operator can be computed again, it is.
bool Judge::excuse_rounding(OperatorComparison& op) {
  if (op.verdict == Verdict::input_differs && kind_of(op.run().type).name == "concat") {
    // Beside the other inputs it is nothing: a gradient that is zero but for rounding, among all gradients.
    for (SlotComparison& slot : op.slots)
      if (is_difference(slot.verdict)) slot.verdict = Verdict::rounding;
    op.verdict = Verdict::rounding;
    return true;
  }
  const bool is_open =
      op.cause.empty() && (op.verdict == Verdict::own_error || op.verdict == Verdict::inherited ||
                           op.verdict == Verdict::input_differs);
  double input = 0, output = 0, fresh_input = 0;  // the last one of inputs that are not known
  double flipped_input = 0;
  bool is_small = true, is_small_input = true, has_cancelled = false, has_amplified = false;
  if (op.other_rank) {
    input = fresh_input = op.other_rank->relative_l2;
    is_small_input = input <= kGain * noise_;
  }
  const auto limit_of = [&](const SlotComparison& slot) {
    const double made = std::max(largest_rounding(slot, has_types_), limit_);
    const double limit = std::max(made, std::min(passed_on_, kMostPassedOn * made));
    const bool is_passed_on =
        side_of(slot) == model::Side::output && is_small_input && !has_cancelled && !has_amplified;
    const double gain = has_types_ ? kAmplifiedGain : kPassedOn;
    return is_passed_on ? std::max(limit, std::min(gain * input, kMostPassedOn * made)) : limit;
  };
  for (const SlotComparison& slot : op.slots) {  // inputs first
    const bool is_output = side_of(slot) == model::Side::output;
    const double distance = slot.metrics ? slot.metrics->relative_l2 : 0;
    if (!is_output && is_open && is_difference(slot.verdict) && flips_.contain(op, slot)) {
      flipped_input = std::max(flipped_input, has_distance(slot) ? distance : kUnrelated);
      continue;
    }
    const bool is_cancelled = !is_output && cancelled_.contain(op, slot);
    const bool is_known = is_cancelled || (!is_output && amplified_.contain(op, slot));
    has_cancelled |= is_cancelled;
    has_amplified |= is_known && !is_cancelled;
    (is_output ? output : input) = std::max(is_output ? output : input, distance);
    if (!is_output && !is_known) fresh_input = std::max(fresh_input, distance);
    if (!is_difference(slot.verdict) || is_known) continue;
    const bool is_fine =
        slot.metrics && distance <= limit_of(slot) && (is_output || distance <= kGain * noise_);
    (is_output ? is_small : is_small_input) &= is_fine;
  }
  const auto is_flipped = [&](const SlotComparison& slot) {
    return side_of(slot) != model::Side::output || !is_difference(slot.verdict) || !has_distance(slot) ||
           slot.metrics->relative_l2 <= std::max(limit_of(slot), kAmplifiedGain * flipped_input);
  };
  if (is_open && is_small_input && std::ranges::all_of(op.slots, is_flipped) &&
      (flipped_input > 0 ? is_amplified(op).value_or(true) : chooses_otherwise(op))) {
    excuse_flip(op, flipped_input == 0);
    return true;
  }
  const bool has_known = has_cancelled || has_amplified, may_divide = divides(op.run().type);
  const double gain = may_divide ? kDivisionGain : has_amplified && !has_cancelled ? kAmplifiedGain : kGain;
  const bool agree = op.verdict == Verdict::input_differs;  // the outputs
  const bool is_grown = is_small && input > 0 && (agree || output <= gain * input);
  const auto has_grown = [&](const SlotComparison& slot) {
    return slot.metrics && slot.metrics->relative_l2 <= std::min(gain * input, limit_of(slot));
  };
  const bool is_from_known = has_known && output <= gain * input;
  const std::optional<bool> amplified = is_open && is_small_input ? is_amplified(op) : std::nullopt;
  const bool is_excused = is_open && is_small_input && amplified.value_or(true) &&
                          (is_grown || is_from_known || (is_small && is_of_other_operators(op)) ||
                           (amplified && fresh_input <= kGain * noise_) ||
                           is_cancellation(op, has_cancelled ? 0 : input, has_types_, has_grown));
  if (is_excused) {
    for (SlotComparison& slot : op.slots) {
      if (!is_difference(slot.verdict)) continue;
      slot.verdict = Verdict::rounding;
      if (is_grown || side_of(slot) != model::Side::output) continue;
      const bool is_from_amplified =
          has_amplified && slot.metrics && slot.metrics->relative_l2 <= kAmplifiedGain * input;
      (!has_cancelled && (amplified || is_from_amplified) ? amplified_ : cancelled_).add(op, slot);
    }
    op.verdict = Verdict::rounding;
  }
  if (!(is_excused && is_grown && !has_known) && op.verdict != Verdict::match) return is_small_input;
  noise_ = std::max(noise_, output);
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::output && slot.metrics && slot.metrics->relative_l2 > 0)
      limit_ = std::max(limit_, largest_rounding(slot, has_types_));
  if (is_excused) passed_on_ = std::max(passed_on_, output);
  return is_small_input;
}

// `chooses`: it made the choice, and does not only read what follows from one.
void Judge::excuse_flip(OperatorComparison& op, bool chooses) {
  for (SlotComparison& slot : op.slots) {
    if (!is_difference(slot.verdict)) continue;
    slot.verdict = Verdict::rounding;
    if (side_of(slot) != model::Side::output) continue;
    flips_.add(op, slot);
    if (!chooses || has_distance(slot) || !slot.metrics) continue;
    if (flip_count_ == 0)
      first_flip_ = one_line(operator_name(op.run())) + " in step " + std::to_string(op.run().step);
    flip_count_ += slot.metrics->mismatch_count;
  }
  op.verdict = Verdict::rounding;
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
  if (std::string view = describe_other_view(op); !view.empty()) view_ = std::move(view);
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
  if (flip_count_ > 0 && !so_far_.first_bad)
    so_far_.notes.push_back(counted(flip_count_, "choice") +
                            " between numbers that are equal within rounding " +
                            (flip_count_ == 1 ? "is another" : "are others") + " (first " + first_flip_ +
                            "): what follows from that is no difference");
  comparison = std::move(so_far_);
  if (comparison.coverage.compared_slots == 0 && !measured_difference_)
    comparison.outcome = Answer::nothing_compared;
  else if (comparison.first_bad)
    comparison.outcome = Answer::differs;
  else
    comparison.outcome = open_question_ || !comparison.incomplete.empty() ? Answer::incomplete : Answer::same;
}

}  // namespace opdump::compare
