#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "compare/facts/arguments.h"
#include "compare/facts/operator_kind.h"
#include "compare/key_slots.h"
#include "compare/matrix_units.h"
#include "compare/measure/measure_parts.h"
#include "compare/names.h"
#include "compare/rules/rounding/choice.h"
#include "compare/rules/rounding/conditioning.h"
#include "compare/rules/rounding/error_bounds.h"
#include "compare/rules/rounding/flips.h"
#include "compare/rules/rounding/recompute.h"
#include "compare/rules/rounding/rewritten_results.h"
#include "compare/rules/rounding/rounding.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// How much larger than the differences of its inputs that of an output may be, both relative. Operators that
// divide by what may be tiny, as optimizers do, have no such limit in practice.
constexpr double kGain = 32, kDivisionGain = 1e5;
// The same of inputs that differ by much already.
constexpr double kAmplifiedGain = 4;
// The distance of tensors of which each run has other rows, or other places.
constexpr double kUnrelated = 1.5;
// What hardly exceeds its inputs was not made here: it may exceed the largest rounding, too, up to so many
// times. Of runs in two precisions, it may be kAmplifiedGain times its inputs: those of attention's backward
// pass are.
constexpr double kPassedOn = 1.1, kMostPassedOn = 2;
// Roundoffs of units that multiply matrices, by which a sum of products may be off.
constexpr double kUnitRoundoffs = 4;

// What rounding grows to in the depth of a network, relative to the whole tensor. Of a run in another
// precision it is that of the coarser type.
double largest_rounding(const SlotComparison& slot, bool has_types) {
  double rtol = default_tolerance(slot.dtype).rtol;
  if (has_types) rtol = std::max(rtol, default_tolerance(coarsest_dtype(slot)).rtol);
  return rtol > 1e-4 ? 8 * rtol : 100 * rtol;
}

// Did both runs compute the outputs right, from inputs that differ, and each rank of its own? Nothing where
// that is not known.
std::optional<bool> is_amplified(const OperatorComparison& op) {
  std::vector<const dump::OperatorRun*> runs{op.golden.get(), op.actual.get()};
  for (const auto& shard : op.shards)
    if (shard != nullptr && shard != op.golden && shard != op.actual) runs.push_back(shard.get());
  bool are_right = true;
  for (const dump::OperatorRun* const run : runs) {
    const auto is_right = is_computed_right(*run);
    if (!is_right) return std::nullopt;
    are_right &= *is_right;
  }
  return are_right;
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

// Where a framework or an engine computes at once what the other one takes several operators for, which round
// in between.
bool is_of_other_operators(const OperatorComparison& op) {
  const bool is_fused = !op.left_out.empty() && is_rewritten_by_engine(op.golden.get(), op.actual.get());
  return is_fused || (op.is_across && kind_of(op.golden->type).name != kind_of(op.actual->type).name);
}

// Beside the other inputs it is nothing: a gradient that is zero but for rounding, among all gradients.
bool is_lost_among_others(const OperatorComparison& op) {
  return op.verdict == Verdict::input_differs && kind_of(op.run().type).name == "concat";
}

bool may_be_excused(const OperatorComparison& op) {
  return op.cause.empty() && (op.verdict == Verdict::own_error || op.verdict == Verdict::inherited ||
                              op.verdict == Verdict::input_differs);
}

// How much larger than the differences of its inputs that of its outputs may be.
double gain_of(const OperatorComparison& op, bool reads_amplified) {
  return model::has_trait(op.run().type, model::Trait::divides) ? kDivisionGain
         : reads_amplified                                      ? kAmplifiedGain
                                                                : kGain;
}

void excuse_all(OperatorComparison& op) {
  for (SlotComparison& slot : op.slots)
    if (is_difference(slot.verdict)) slot.verdict = Verdict::rounding;
  op.verdict = Verdict::rounding;
}

// Which differences are no more than what the rounding of earlier operators grows to.
//
// Makes Verdict::rounding of an output that differs by no more than what the small differences of its inputs
// can grow to, and of those inputs. Inputs count if an earlier operator of the rank made a difference of that
// size: those of weights and data do not. What is left of terms that cancel is compared with the terms. Where
// an operator can be computed again, it is.
class Rounding : public RuleState {
 public:
  explicit Rounding(const Study& study)
      : units_(study.relation.units),
        has_types_(study.systematic.are_types_usual || units_ != nullptr),
        reasons_(study),
        rewritten_(study.is_plain()
                       ? RewrittenResults(study.golden->runs(), study.actual->runs(), study.pairs)
                       : RewrittenResults()) {}

  bool look(OperatorComparison& op, Ledger& ledger) override;
  void remark(Ledger& ledger) override;

 private:
  // Which of its reasons the user has not switched off.
  struct Reasons {
    explicit Reasons(const Study& study)
        : lost_among_others(study.has_rule(kLostAmongOthers.name)),
          other_choice(study.has_rule(kOtherChoice.name)),
          grown(study.has_rule(kGrownRounding.name)),
          known(study.has_rule(kKnownRounding.name)),
          followed(study.has_rule(kFollowedRounding.name)),
          other_kernel(study.has_rule(kOtherKernel.name)),
          recomputed(study.has_rule(kRecomputed.name)),
          cancelled(study.has_rule(kCancelledTerms.name)) {}
    bool lost_among_others, other_choice, grown, known, followed, other_kernel, recomputed, cancelled;
  };
  // How far rounding has come in a rank.
  struct Progress {
    double noise = 0;  // the largest relative L2 distance of an output that counts as rounding
    // The largest distance that may be made: what bfloat16 has rounded stays as coarse when it is float32.
    double limit = 0;
    double passed_on = 0;  // the largest one that was
  };
  // How much the slots of an operator differ, relative L2: the largest of each.
  struct Distances {
    double input = 0, output = 0;
    double fresh_input = 0;                             // of inputs that are not known
    double flipped_input = 0;                           // of inputs that follow from another choice
    bool is_small = true, is_small_input = true;        // no more than rounding
    bool has_cancelled = false, has_amplified = false;  // inputs that are known: in cancelled_, amplified_
    bool has_followed = false;                          // of the first: by who made it

    bool has_known() const { return has_cancelled || has_amplified; }
  };
  Distances measure(const OperatorComparison& op, bool is_open, const Ledger& ledger) const;
  // Whether an input differs by no more than the operators that made it leave uncertain.
  bool is_followed(const SlotComparison& input, const Ledger& ledger) const;
  // How much `slot` may differ.
  double limit_of(const SlotComparison& slot, const Distances& distances) const;
  std::string_view why(const OperatorComparison& op, const Distances& distances, double gain, bool is_grown,
                       std::optional<bool> amplified) const;
  bool is_flip(const OperatorComparison& op, const Distances& distances) const;
  // `chooses`: it made the choice, and does not only read what follows from one.
  void excuse_flip(OperatorComparison& op, bool chooses);
  // Of an output that has not just grown, or follows from one: what reads it may differ as much. `amplified`:
  // both runs computed it right.
  void excuse_slots(OperatorComparison& op, const Distances& distances, bool is_grown,
                    std::optional<bool> amplified);
  void raise_noise(const OperatorComparison& op, double output);
  // By what modules made of which no operator is in both runs.
  void raise_noise_of_modules(const OperatorComparison& op);

  const MatrixUnits* units_;
  bool has_types_;  // one run computes in other types than the other one throughout
  Reasons reasons_;
  RewrittenResults rewritten_;
  CancelledTensors cancelled_;
  CancelledTensors amplified_;  // outputs of masks and divisions, and what follows from them
  Flips flips_;
  std::uint64_t flip_count_ = 0;
  std::string first_flip_;
  std::map<std::uint32_t, Progress> by_rank_;
  Progress* rank_ = nullptr;  // of the operator that is looked at
};

double Rounding::limit_of(const SlotComparison& slot, const Distances& distances) const {
  const double made = std::max(largest_rounding(slot, has_types_), rank_->limit);
  const double limit = std::max(made, std::min(rank_->passed_on, kMostPassedOn * made));
  const bool is_passed_on =
      side_of(slot) == model::Side::output && distances.is_small_input && !distances.has_known();
  const double gain = has_types_ ? kAmplifiedGain : kPassedOn;
  return is_passed_on ? std::max(limit, std::min(gain * distances.input, kMostPassedOn * made)) : limit;
}

bool Rounding::is_followed(const SlotComparison& input, const Ledger& ledger) const {
  return reasons_.followed && ledger.bounds() != nullptr && is_difference(input.verdict) && input.metrics &&
         input.parts == nullptr && input.sharded == nullptr && !input.any_layout &&
         ledger.bounds()->explain_input(ledger.next_place(), *input.golden, *input.actual, rank_->noise);
}

Rounding::Distances Rounding::measure(const OperatorComparison& op, bool is_open,
                                      const Ledger& ledger) const {
  Distances distances;
  if (op.other_rank) {
    distances.input = distances.fresh_input = op.other_rank->relative_l2;
    distances.is_small_input = distances.input <= kGain * rank_->noise;
  }
  for (const SlotComparison& slot : op.slots) {  // inputs first
    const bool is_output = side_of(slot) == model::Side::output;
    const double distance = slot.metrics ? slot.metrics->relative_l2 : 0;
    if (!is_output && is_open && is_difference(slot.verdict) && flips_.contain(op, slot)) {
      distances.flipped_input = std::max(distances.flipped_input, has_distance(slot) ? distance : kUnrelated);
      continue;
    }
    bool is_cancelled = !is_output && cancelled_.contain(op, slot);
    const bool is_amplified = !is_output && amplified_.contain(op, slot);
    if (is_open && !is_output && !is_cancelled && !is_amplified)
      distances.has_followed |= is_cancelled = is_followed(slot, ledger);
    const bool is_known = is_cancelled || is_amplified;
    distances.has_cancelled |= is_cancelled;
    distances.has_amplified |= is_known && !is_cancelled;
    double& largest = is_output ? distances.output : distances.input;
    // What a run has of other rows is not compared, and is as near as all before it.
    const bool is_left_out = slot.parts != nullptr && !slot.parts->left_out.empty();
    largest = std::max(largest, is_left_out && !is_output ? rank_->noise : distance);
    if (!is_output && !is_known) distances.fresh_input = std::max(distances.fresh_input, distance);
    if (!is_difference(slot.verdict) || is_known) continue;
    const bool is_fine = slot.metrics && distance <= limit_of(slot, distances) &&
                         (is_output || distance <= kGain * rank_->noise);
    (is_output ? distances.is_small : distances.is_small_input) &= is_fine;
  }
  return distances;
}

// The first reason that explains the outputs; empty if none does.
std::string_view Rounding::why(const OperatorComparison& op, const Distances& distances, double gain,
                               bool is_grown, std::optional<bool> amplified) const {
  const auto has_grown = [&](const SlotComparison& slot) {
    return slot.metrics &&
           slot.metrics->relative_l2 <= std::min(gain * distances.input, limit_of(slot, distances));
  };
  if (reasons_.grown && is_grown) return kGrownRounding.name;
  if (units_ != nullptr && distances.is_small && units_->compute(op.golden->type) &&
      distances.output <= kUnitRoundoffs * roundoff(units_->as) + gain * distances.input)
    return kMatrixUnits.name;
  if (reasons_.known && distances.has_known() && distances.output <= gain * distances.input)
    return distances.has_followed ? kFollowedRounding.name : kKnownRounding.name;
  if (reasons_.other_kernel && distances.is_small && is_of_other_operators(op)) return kOtherKernel.name;
  if (reasons_.recomputed && amplified && distances.fresh_input <= kGain * rank_->noise)
    return kRecomputed.name;
  if (reasons_.cancelled &&
      is_cancellation(op, distances.has_cancelled ? 0 : distances.input, has_types_, has_grown))
    return kCancelledTerms.name;
  return {};
}

bool Rounding::look(OperatorComparison& op, Ledger& ledger) {
  rank_ = &by_rank_[op.run().rank];
  if (reasons_.lost_among_others && is_lost_among_others(op)) {
    excuse_all(op);
    op.rule = kLostAmongOthers.name;
    op.reads_rounding = true;
    return true;
  }
  const bool is_open = may_be_excused(op);
  if (is_open) raise_noise_of_modules(op);
  const Distances distances = measure(op, is_open, ledger);
  op.reads_rounding = distances.is_small_input;
  if (reasons_.other_choice && is_open && is_flip(op, distances)) {
    excuse_flip(op, distances.flipped_input == 0);
    op.rule = kOtherChoice.name;
    op.reads_rounding = true;
    return true;
  }
  const double input = distances.input, output = distances.output;
  const double gain = gain_of(op, distances.has_amplified && !distances.has_cancelled);
  const bool agree = op.verdict == Verdict::input_differs;  // the outputs
  const bool is_grown = distances.is_small && input > 0 && (agree || output <= gain * input);
  const bool is_candidate = is_open && distances.is_small_input;
  const std::optional<bool> amplified =
      is_candidate && reasons_.recomputed ? is_amplified(op) : std::optional<bool>();
  const std::string_view reason = is_candidate && amplified.value_or(true)
                                      ? why(op, distances, gain, is_grown, amplified)
                                      : std::string_view();
  if (!reason.empty()) {
    excuse_slots(op, distances, is_grown, amplified);
    op.rule = reason;
  }
  const bool has_only_grown =
      (!reason.empty() && is_grown && !distances.has_known()) || reason == kMatrixUnits.name;
  if (has_only_grown || op.verdict == Verdict::match) raise_noise(op, output);
  if (has_only_grown) rank_->passed_on = std::max(rank_->passed_on, output);
  ledger.raise_noise(rank_->noise);
  return !reason.empty();
}

void Rounding::excuse_slots(OperatorComparison& op, const Distances& distances, bool is_grown,
                            std::optional<bool> amplified) {
  for (SlotComparison& slot : op.slots) {
    if (!is_difference(slot.verdict)) continue;
    slot.verdict = Verdict::rounding;
    if ((is_grown && !distances.has_known()) || side_of(slot) != model::Side::output) continue;
    const bool is_from_amplified = distances.has_amplified && slot.metrics &&
                                   slot.metrics->relative_l2 <= kAmplifiedGain * distances.input;
    (!distances.has_cancelled && (amplified || is_from_amplified) ? amplified_ : cancelled_).add(op, slot);
  }
  op.verdict = Verdict::rounding;
}

void Rounding::raise_noise(const OperatorComparison& op, double output) {
  rank_->noise = std::max(rank_->noise, output);
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::output && slot.metrics && slot.metrics->relative_l2 > 0)
      rank_->limit = std::max(rank_->limit, largest_rounding(slot, has_types_));
}

void Rounding::raise_noise_of_modules(const OperatorComparison& op) {
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::input && is_difference(slot.verdict) && slot.metrics &&
        slot.metrics->relative_l2 > rank_->noise && rewritten_.contain(slot))
      rank_->noise = slot.metrics->relative_l2;
}

bool Rounding::is_flip(const OperatorComparison& op, const Distances& distances) const {
  const auto is_flipped = [&](const SlotComparison& slot) {
    return side_of(slot) != model::Side::output || !is_difference(slot.verdict) || !has_distance(slot) ||
           slot.metrics->relative_l2 <=
               std::max(limit_of(slot, distances), kAmplifiedGain * distances.flipped_input);
  };
  return distances.is_small_input && std::ranges::all_of(op.slots, is_flipped) &&
         (distances.flipped_input > 0 ? is_amplified(op).value_or(true) : chooses_otherwise(op));
}

void Rounding::excuse_flip(OperatorComparison& op, bool chooses) {
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

void Rounding::remark(Ledger& ledger) {
  if (flip_count_ == 0 || ledger.first_bad() != nullptr) return;
  ledger.note(kOtherChoice.name, counted(flip_count_, "choice") +
                                     " between numbers that are equal within rounding " +
                                     inflect(flip_count_, "is another", "are others") + " (first " +
                                     first_flip_ + "): what follows from that is no difference");
}

}  // namespace

const Rule kRounding{.name = "rounding",
                     .sentence =
                         "outputs that differ by no more than what rounding in earlier operators of the rank "
                         "grows to are no difference; for one of the reasons that follow",
                     .stage = Stage::excuse,
                     .begin = begin_state<Rounding>};
const Rule kLostAmongOthers{
    .name = "lost-among-others",
    .sentence = "an input that is nothing beside the others leaves a concatenation as it is",
    .stage = Stage::excuse};
const Rule kOtherChoice{
    .name = "other-choice",
    .sentence = "both runs chose right, each of its own numbers, which are equal within rounding",
    .stage = Stage::excuse};
const Rule kGrownRounding{
    .name = "grown-rounding",
    .sentence = "the outputs differ by what the small differences of the inputs grow to",
    .stage = Stage::excuse};
const Rule kFollowedRounding{.name = "followed-rounding",
                             .sentence =
                                 "an input differs by no more than the operators that made it in each run "
                                 "have left uncertain: what is "
                                 "left of terms that cancel, element by element",
                             .stage = Stage::excuse};
const Rule kKnownRounding{.name = "known-rounding",
                          .sentence = "the inputs differ by much, rightly, and the outputs by hardly more",
                          .stage = Stage::excuse};
const Rule kOtherKernel{
    .name = "other-kernel",
    .sentence = "an engine or another framework computes it at once, and rounds less often",
    .stage = Stage::excuse};
const Rule kRecomputed{
    .name = "recomputed",
    .sentence =
        "computed again from its own inputs, each run has what it should; where it has not, "
        "nothing excuses it",
    .stage = Stage::excuse};
const Rule kMatrixUnits{
    .name = "matrix-units",
    .sentence =
        "a run that multiplies matrices with TF32 or bfloat16, in all of several operators, rounds as a type "
        "of 16 bits does",
    .stage = Stage::excuse};
const Rule kCancelledTerms{
    .name = "cancelled-terms",
    .sentence =
        "the outputs are what is left of terms that cancel, and differ by the rounding of "
        "these",
    .stage = Stage::excuse};

}  // namespace opdump::compare
