#include "compare/rules/ledger.h"

#include <algorithm>
#include <array>

#include "compare/key_slots.h"
#include "compare/names.h"
#include "model/dtype.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostOpen = 4096;  // operators that may be another way to compute the same

// What the user wants to hear of first: the kind, then the step. What another rank has handed on comes last:
// the other rank has the answer.
auto urgency(const Accusation& accusation) {
  return std::pair(!has_bad_output(accusation.op.verdict) || accusation.is_handed_on,
                   accusation.op.run().step);
}

// Whether all that an operator reads and makes is compared as it is.
bool is_plain(const OperatorComparison& op) {
  return op.left_out.empty() && op.shards.empty() && !op.other_rank && !op.is_across && !op.lacks_slots &&
         !op.is_quantised;
}

// The tensors that an operator reads. Numbers may be arguments, and count if there is nothing else.
std::vector<const SlotComparison*> tensors_read(const OperatorComparison& op) {
  std::vector<const SlotComparison*> tensors, numbers;
  for (const SlotComparison& slot : op.slots) {
    if (side_of(slot) != model::Side::input || slot.verdict == Verdict::skipped) continue;
    const bool is_number = slot.shape && model::element_count(*slot.shape).value_or(0) <= 1;
    (is_number ? numbers : tensors).push_back(&slot);
  }
  return tensors.empty() ? numbers : tensors;
}

// Whether all tensors that an operator reads differ, by more than rounding, which is up to `noise`.
bool reads_others(const OperatorComparison& op, double noise) {
  const auto tensors = tensors_read(op);
  return !tensors.empty() && std::ranges::all_of(tensors, [&](const SlotComparison* slot) {
    return is_difference(slot->verdict) && !(slot->metrics && slot->metrics->relative_l2 <= noise);
  });
}

// Whether its outputs agree, up to `noise`: what makes the same of others by another argument is not at
// fault.
bool makes_the_same(const OperatorComparison& op, double noise) {
  return std::ranges::all_of(op.slots, [&](const SlotComparison& slot) {
    return side_of(slot) == model::Side::input || is_fine(slot.verdict) ||
           (slot.metrics && slot.metrics->relative_l2 <= noise);
  });
}

// Of an operator that only hands on a difference, in a number of inputs: which. Nothing if it may be at fault
// itself: what a mask or a choice of numbers leaves of a difference says nothing of it. What puts elements
// together as they are makes no choice.
std::optional<std::vector<std::pair<std::uint32_t, std::uint32_t>>> handed_on(const OperatorComparison& op,
                                                                              double noise) {
  const bool is_open = op.verdict == Verdict::inherited || op.verdict == Verdict::input_differs;
  // Another argument is none if the two read nothing that is the same: they are perhaps not one operator.
  const bool is_other = reads_others(op, noise) || makes_the_same(op, noise);
  if (!is_open || (!op.cause.empty() && !is_other) || !is_plain(op) || op.reads_rounding) return std::nullopt;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inputs;
  bool has_numbers = model::has_trait(op.run().type, model::Trait::chooses);
  const auto tensors = tensors_read(op);
  for (const SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr) return std::nullopt;
    const bool is_output = side_of(slot) == model::Side::output;
    has_numbers |= is_output && model::is_floating(slot.golden->dtype);
    const bool is_argument = !op.cause.empty() && std::ranges::find(tensors, &slot) == tensors.end();
    if (!is_output && !is_argument && is_difference(slot.verdict))
      inputs.emplace_back(slot.golden->index, slot.actual->index);
  }
  return has_numbers && !inputs.empty() ? std::optional(inputs) : std::nullopt;
}

// Whether an operator of both runs that is bad differs in the sizes of its tensors alone.
bool differs_in_size(const OperatorComparison& op) {
  bool has_other_output = false, has_numbers = false;
  for (const SlotComparison& slot : op.slots) {
    const bool is_output = side_of(slot) == model::Side::output;
    if (!is_difference(slot.verdict)) {
      has_numbers |= is_output && slot.metrics && model::is_floating(slot.dtype);
      continue;
    }
    const bool is_other_size = slot.golden != nullptr && slot.actual != nullptr && slot.golden->shape &&
                               slot.actual->shape && !(*slot.golden->shape == *slot.actual->shape) &&
                               !slot.metrics;  // else it was compared in the rows that both have
    if (!is_other_size) return false;
    has_other_output |= is_output;
  }
  return has_other_output || has_numbers;  // a choice may be the same of wrong numbers
}

// Whether it casts a tensor that has another type in each run: the name says what is done, not of what.
bool casts_another(const OperatorComparison& op) {
  return model::has_trait(op.run().type, model::Trait::casts) &&
         std::ranges::all_of(op.slots, [](const SlotComparison& slot) {
           return slot.golden != nullptr && slot.actual != nullptr &&
                  (side_of(slot) == model::Side::output || slot.golden->dtype != slot.actual->dtype);
         });
}

// Whether it makes places in each run from another place on: from nothing, or so that they are the same.
bool counts_elsewhere(const OperatorComparison& op) {
  bool reads_places = false, makes_others = false;
  for (const SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr ||
        model::dtype_info(slot.golden->dtype).kind != model::DTypeKind::signed_integer ||
        slot.golden->dtype != slot.actual->dtype)
      return false;
    const bool is_output = side_of(slot) == model::Side::output;
    reads_places |= !is_output;
    makes_others |= is_output && !is_fine(slot.verdict);
  }
  return !op.slots.empty() && !(reads_places && makes_others);
}

// Whether an operator of both runs that is bad is perhaps another one in each run.
bool is_loose(const OperatorComparison& op) {
  return is_plain(op) && (differs_in_size(op) || casts_another(op) || counts_elsewhere(op));
}

bool has_recorded_output(const OperatorComparison& op) {
  return std::ranges::any_of(op.slots, [](const SlotComparison& slot) {
    return side_of(slot) == model::Side::output &&
           (slot.golden != nullptr ? slot.golden : slot.actual)->has_data();
  });
}

Agreement agreement_of(const OperatorComparison& op) {
  if (op.golden == nullptr || op.actual == nullptr) return Agreement::none;
  if (!is_fine(op.verdict)) return Agreement::differs;
  const bool is_compared = std::ranges::any_of(
      op.slots, [](const SlotComparison& slot) { return slot.metrics && is_fine(slot.verdict); });
  return is_compared ? Agreement::agrees : Agreement::none;
}

ErrorBounds::State state_of(const OperatorComparison& op) {
  // What other operators excuse, as a factor of all gradients, is not right by itself.
  if (!is_fine(op.verdict) || op.as_measured) return ErrorBounds::State::open;
  const bool is_measured = std::ranges::all_of(op.slots, [](const SlotComparison& slot) {
    return side_of(slot) != model::Side::output || (slot.metrics && slot.parts == nullptr);
  });
  if (!is_measured) return ErrorBounds::State::settled;
  return op.verdict == Verdict::rounding ? ErrorBounds::State::rounding : ErrorBounds::State::matching;
}

}  // namespace

const Accusation* first_bad(std::span<const Accusation> accusations) {
  const Accusation* standing = nullptr;
  for (const Accusation& accusation : accusations)
    if (standing == nullptr || accusation.precedes == nullptr || accusation.precedes(accusation, *standing))
      standing = &accusation;
  return standing;
}

bool is_bad(const OperatorComparison& op, const Unfinished& unfinished) {
  const bool is_absent = op.verdict == Verdict::missing || op.verdict == Verdict::extra;
  if (op.is_alone ||
      (is_absent && (runs_ahead(op.run()) || model::has_trait(op.run().type, model::Trait::copies))))
    return false;
  if (op.verdict == Verdict::missing) return !unfinished.excuses_actual(*op.golden);
  if (op.verdict == Verdict::extra) return !unfinished.excuses_golden(*op.actual);
  return is_difference(op.verdict);
}

OperatorComparison as_measured(OperatorComparison op) {
  if (!op.as_measured) return op;
  const Verdict settled = std::exchange(op.verdict, *std::exchange(op.as_measured, std::nullopt));
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  for (SlotComparison& slot : op.slots)
    if (slot.verdict == settled)
      slot.verdict = !is_paired || side_of(slot) == model::Side::output ? op.verdict : Verdict::input_differs;
  op.left_out.clear();
  return op;
}

bool Ledger::add(const OperatorComparison& op, std::size_t place) {
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  paired_count_ += is_paired;
  agreements_.resize(std::max(agreements_.size(), place + 1), Agreement::none);
  agreements_[place] = agreement_of(op);
  if (bounds_ != nullptr) bounds_->set(place, state_of(op));
  if (last_step_ != op.run().step) {
    unpaired_ = {};
    single_.reset();
  }
  const bool is_bad_here = is_bad(op, unfinished_);
  if (is_bad_here && !is_paired) singles_.push_back(place);
  if (is_bad_here && is_paired && !has_other_pairs_) {
    auto inputs = handed_on(op, noise_);
    has_other_pairs_ = !inputs || open_pairs_.size() == kMostOpen;
    if (!has_other_pairs_)
      open_pairs_.push_back({place, std::move(*inputs), op.verdict == Verdict::input_differs});
  }
  if (is_bad_here && is_paired && !has_firm_pairs_) {
    has_firm_pairs_ = !is_loose(op) || loose_pairs_.size() == kMostOpen;
    if (!has_firm_pairs_) loose_pairs_.push_back(place);
  }
  if (op.other_rank) fed_rank_ = op.run().rank;
  const bool is_handed_on = fed_rank_ == op.run().rank && op.verdict == Verdict::inherited;
  const Accusation mine{.rule = {},
                        .op = {},
                        .place = place,
                        .before = is_paired ? unpaired_ : UnpairedOperators(),
                        .is_handed_on = is_handed_on};
  const auto note = [&](std::optional<Accusation>& first) {
    const std::pair urgency_of_mine(!has_bad_output(op.verdict) || is_handed_on, op.run().step);
    if (first && urgency_of_mine >= urgency(*first)) return false;
    first = mine;
    first->op = op;
    return true;
  };
  const bool is_most_urgent = is_bad_here && note(all_);
  const bool is_first_paired = is_bad_here && is_paired && note(paired_);
  // What only one run has may explain that differences grow.
  if (by_gains_ && single_ && is_paired && op.cause.empty()) {
    if (is_most_urgent) all_->single = std::make_shared<const Accusation>(*single_);
    if (is_first_paired) paired_->single = std::make_shared<const Accusation>(*single_);
  }
  last_step_ = op.run().step;
  if (is_paired) {
    unpaired_ = {};
    single_.reset();
  } else if (op.verdict != Verdict::skipped) {
    ++(op.golden != nullptr ? unpaired_.only_golden : unpaired_.only_actual);
    if (by_gains_ && is_bad_here && !single_ && has_recorded_output(op))
      single_ = Accusation{.rule = {}, .op = op, .place = place};
  }
  return is_most_urgent || is_first_paired;
}

std::span<const std::size_t> Ledger::open_singles() const {
  const bool is_settled = paired_count_ == 0 || (all_ && has_bad_output(all_->op.verdict));
  return is_settled ? std::span<const std::size_t>() : singles_;
}

std::span<const OpenPair> Ledger::open_pairs() const {
  return has_other_pairs_ ? std::span<const OpenPair>() : open_pairs_;
}

void Ledger::settle_singles(std::string_view rule, std::span<const std::size_t> lacking,
                            std::optional<Accusation> first) {
  is_settled_ = true;
  settled_by_ = rule;
  lacking_ = {lacking.begin(), lacking.end()};
  if (!singles_.empty() && lacking_.contains(singles_.front())) return;  // that is bad already
  all_ = paired_;
  if (first && (!all_ || urgency(*first) < urgency(*all_))) all_ = std::move(first);
}

void Ledger::excuse_all(std::string_view rule) {
  is_settled_ = true;
  settled_by_ = rule;
  pairs_are_excused_ = true;
  all_ = paired_ = std::nullopt;
}

void Ledger::take_back(const OperatorComparison& first, std::size_t first_place,
                       std::span<const std::size_t> places) {
  taken_back_.insert(places.begin(), places.end());
  has_other_pairs_ = has_firm_pairs_ = true;
  const Accusation mine{.rule = {}, .op = first, .place = first_place};
  const auto is_more_urgent = [&](const std::optional<Accusation>& than) {
    return !than || std::pair(urgency(mine), mine.place) < std::pair(urgency(*than), than->place);
  };
  if (is_more_urgent(all_)) all_ = mine;
  if (is_more_urgent(paired_)) paired_ = mine;
}

void Ledger::revise(OperatorComparison& op, std::size_t place) const {
  if (taken_back_.contains(place)) {
    op = as_measured(std::move(op));
    op.rule = {};
    return;
  }
  if (settled_by_.empty()) return;
  const bool is_single = op.golden == nullptr || op.actual == nullptr;
  const bool is_loose =
      pairs_are_excused_ && !has_firm_pairs_ && std::ranges::binary_search(loose_pairs_, place);
  const bool is_excused =
      is_single ? std::ranges::binary_search(singles_, place) && !lacking_.contains(place)
                : is_loose || (pairs_are_excused_ &&
                               std::ranges::binary_search(open_pairs_, place, {}, &OpenPair::place));
  if (!is_excused) return;
  op.as_measured = op.verdict;
  op.rule = settled_by_;
  op.verdict = is_single || is_loose ? Verdict::skipped : Verdict::rounding;
  if (is_single) op.left_out = "the other run has its results, or nothing reads them";
  if (is_loose) op.left_out = "it is perhaps another operator in each run, and what follows agrees";
  for (SlotComparison& slot : op.slots) {
    if (!is_single && !is_difference(slot.verdict)) continue;
    slot.verdict = op.verdict;
    slot.rule = settled_by_;
    if (!op.left_out.empty()) slot.reason = op.left_out;
  }
}

Accusation* Ledger::standing() {
  const Accusation* first = first_bad();
  return first == nullptr ? nullptr : &accusations_[static_cast<std::size_t>(first - accusations_.data())];
}

void Ledger::count(const OperatorComparison& op) {
  Coverage& coverage = counts_.coverage;
  if (op.golden != nullptr) ++coverage.golden_operators;
  if (op.actual != nullptr) ++coverage.actual_operators;
  if (op.golden != nullptr && op.actual != nullptr) ++coverage.paired_operators;
  if (op.is_filtered) ++(op.golden != nullptr ? coverage.golden_filtered : coverage.actual_filtered);
  const bool need_not_be =
      runs_ahead(op.run()) || (!op.left_out.empty() && op.rule != settled_by_ && !op.is_across);
  const bool is_single = op.golden == nullptr || op.actual == nullptr;
  if (!is_single || !(need_not_be || op.is_alone || op.may_be_unseen)) cover_.add(op);
  ++counts_.verdicts[static_cast<std::size_t>(op.verdict)];
  measured_difference_ |= is_difference(op.verdict);
  open_question_ |= op.verdict == Verdict::unreadable || op.verdict == Verdict::uncertain;
  if (!rank_) rank_ = op.run().rank;
  counts_.has_ranks |= *rank_ != op.run().rank;
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

void Ledger::conclude(Comparison& comparison) && {
  comparison.has_ranks = counts_.has_ranks;
  comparison.verdicts = counts_.verdicts;
  comparison.coverage = counts_.coverage;
  comparison.coverage.forward_share = cover_.share();
  std::ranges::move(notes_, std::back_inserter(comparison.notes));
  if (const Accusation* first = first_bad(); first != nullptr) {
    comparison.first_bad = first->op;
    comparison.before_first_bad = first->before;
    comparison.view_before_first_bad = first->view;
  }
  comparison.accusations = std::move(accusations_);
  if (comparison.coverage.compared_slots == 0 && !measured_difference_)
    comparison.outcome = Answer::nothing_compared;
  else if (comparison.first_bad)
    comparison.outcome = Answer::differs;
  else
    comparison.outcome = open_question_ || !comparison.incomplete.empty() ? Answer::incomplete : Answer::same;
}

}  // namespace opdump::compare
