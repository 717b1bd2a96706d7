#include "blame/inputs/input_search.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text/text.h"
#include "blame/differences.h"
#include "blame/inputs/dummy_data.h"
#include "blame/inputs/origin.h"
#include "compare/facts/one_sided_operators.h"
#include "compare/facts/operator_kind.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/accuse/origin.h"
#include "compare/rules/accuse/regions.h"
#include "compare/rules/same/equivalence.h"
#include "compare/wiring/producer.h"
#include "model/operator_traits.h"

namespace opdump::blame {

using compare::elements_of;
using compare::one_line;
using compare::operator_name;
using compare::OperatorComparison;
using compare::SlotComparison;

namespace {

// Whether an operator is in no module, as what sets weights.
bool is_outside(const dump::OperatorRun& run) { return compare::module_of(run) == "Default"; }

// One run has axes of length 1 more, as a batch of one image.
bool differs_by_single_axes(const SlotComparison& slot) {
  if (!slot.golden->shape || !slot.actual->shape) return false;
  const auto others = [](const model::Shape& shape) {
    std::vector<std::int64_t> dims;
    std::ranges::copy_if(shape.dims(), std::back_inserter(dims), [](std::int64_t size) { return size != 1; });
    return dims;
  };
  return others(*slot.golden->shape) == others(*slot.actual->shape);
}

// Who made an input as the recorder saw it; empty if nobody did, or nobody knows.
std::string recorded_maker(const dump::OperatorRun& reader, std::uint32_t input) {
  const dump::CallWiring::Input* const known =
      reader.wiring == nullptr ? nullptr : reader.wiring->find(input);
  return known == nullptr || !known->maker ? std::string() : compare::one_line(known->maker->name);
}

// Whether an operator that only moves data made it.
bool is_moved(const dump::OperatorRun& reader, std::uint32_t input) {
  const std::string maker = recorded_maker(reader, input);
  const std::string_view call = std::string_view(maker).substr(maker.rfind('/') + 1);
  return !maker.empty() &&
         compare::kind_of(call.substr(0, call.rfind('-'))).role == compare::OperatorRole::moves;
}

}  // namespace

void InputSearch::look(std::uint32_t i, bool blames) {
  const OperatorComparison& op = suspects_[i];
  for (const SlotComparison& slot : op.slots) {
    if (compare::side_of(slot) != model::Side::input || !differs(slot)) continue;
    auto producer = produced_.find(*slot.actual, norm_of(slot));
    const bool is_whole = producer.has_value();  // a part in 16 bits may have its numbers by chance
    if (!producer) producer = produced_.find_known_part(*slot.actual);
    Elements actual, golden;
    if (!producer) {
      actual = elements_of(*slot.actual), golden = elements_of(*slot.golden);
      if (actual.empty()) continue;
      producer = produced_.find_part(actual, golden);
    }
    const bool is_to_blame = !producer && blames && !op.is_quantised;  // else what quantises lies between
    auto maker = is_to_blame ? find_producer(actual_, *op.actual, actual) : std::nullopt;
    // A later one, where actual runs operators in another order than golden; or of a few elements.
    if (maker) producer = suspects_.find_actual(*maker);
    // Many operators make zeros, and memory that was never filled has them.
    if (std::ranges::all_of(actual, [&](std::uint64_t x) { return x == actual.front(); })) maker.reset();
    if (producer) {
      read_.insert(*producer);
      if (maker && *producer > i) note_later_maker(i, slot, golden, *producer);
      if (blames && is_whole && !op.is_quantised && blame_copied_data(i, slot, *producer)) continue;
      if (blames && is_beyond_rounding(slot)) note_feeder(op, *producer);
    } else if (is_to_blame) {
      if (maker && note_other_maker(i, slot, golden, *maker)) continue;
      golden.size() == actual.size() ? blame_input(i, slot, golden, actual, maker)
                                     : blame_shape(i, slot, golden, actual, maker);
      produced_.add(i, std::move(actual));  // others that read it are not to blame again
    }
  }
}

// Whether actual reads a copy of data that differ, as golden reads its data.
bool InputSearch::blame_copied_data(std::uint32_t i, const SlotComparison& slot, std::uint32_t copy) {
  const auto type = copies_.type_of_data(copy);
  // Golden may have a weight that was updated in a later step, where actual's update was rounded away.
  const bool is_same_step = suspects_[copy].run().step == suspects_[i].run().step;
  if (!type || !is_same_step || is_rounded(slot, *type)) return false;
  blame_input(i, slot, elements_of(*slot.golden), elements_of(*slot.actual), std::nullopt);
  copies_.settle(copy);
  return true;
}

// Gradients that are added in another order come from other operators, too, in the backward pass.
void InputSearch::note_feeder(const OperatorComparison& reader, std::uint32_t producer) {
  const bool is_open =
      !feeder_ && reader.run().op != nullptr && reader.run().op->phase != model::Phase::backward &&
      (!suspects_.rewritten().contains(*reader.golden) || is_outside(suspects_[producer].run()));
  if (is_open && !is_paired(suspects_[producer]) && !copies_.are_of_both(producer)) feeder_ = producer;
}

// No operator made what the two runs do not share.
void InputSearch::blame_input(std::uint32_t i, const SlotComparison& slot, const Elements& golden,
                              const Elements& actual, const std::optional<dump::OperatorRun>& maker) {
  if (is_rounded(slot)) return;
  // What only moves data is left out there, and its results are not known.
  if (suspects_[i].is_across &&
      (!is_beyond_rounding(slot) || is_moved(*suspects_[i].actual, slot.actual->index)))
    return;
  const std::string name = compare::slot_name(slot);
  const auto producer = find_producer(golden_, *suspects_[i].golden, golden);
  if (producer && find_single(*producer) && is_recomputed(slot)) return;
  if (producer && (blame_single(i, *producer) || may_be_unseen(*producer))) return;
  if (golden == actual && differs_by_single_axes(slot)) return;
  if (compare::fingerprint_of(golden) == compare::fingerprint_of(actual)) {
    findings_.add(i, Cause::input, Confidence::certain, name,
                  std::string("it has golden's elements in another ") +
                      (golden == actual ? "shape" : "order (transposed?)") + describe_view(i));
    return;
  }
  // Numbers may be cast in between.
  const bool may_be_same_memory =
      slot.golden->dtype == slot.actual->dtype ||
      (model::is_floating(slot.golden->dtype) && model::is_floating(slot.actual->dtype));
  // Else by chance, or loaded there, or of other memory.
  if (producer && golden.size() > 1 && !suspects_[i].is_across && may_be_same_memory) {
    const std::string made_by = one_line(operator_name(*producer));
    if (maker && find_producer(actual_, *suspects_[i].actual, compare::other_elements(actual, golden)))
      findings_.add(i, Cause::input, Confidence::certain, name,
                    "it is another part of what " + made_by + " made" + describe_view(i));
    else if (const auto other = find_base(*suspects_[i].actual, slot.actual->index);
             other && *other != made_by)
      blame_other_maker(i, slot, *other, made_by);
    else if (const std::string view = recorded_maker(*suspects_[i].actual, slot.actual->index),
             of_golden = recorded_maker(*suspects_[i].golden, slot.golden->index);
             !view.empty() && !of_golden.empty() && view != of_golden)
      blame_other_maker(i, slot, view, of_golden);
    else
      findings_.add(i, Cause::overwritten, Confidence::certain, name,
                    "its memory was changed after " + made_by + " had made it, and by no recorded operator");
    return;
  }
  if (comes_after_a_gap(suspects_[i]) || may_be_gradient()) return;
  const double distance = slot.metrics ? slot.metrics->relative_l2 : 0;
  const bool is_large = !slot.metrics || distance > 100 * compare::default_tolerance(slot.dtype).rtol;
  findings_.add(i, Cause::input, is_large || produced_nothing_ ? Confidence::certain : Confidence::suspect,
                name, explain_data(golden_, *suspects_[i].golden, slot, golden, actual));
}

// Who made, in actual, what an input is a view or a cast of; empty if no operator did, and nothing where
// nobody knows.
std::optional<std::string> InputSearch::find_base(const dump::OperatorRun& reader,
                                                  std::uint32_t input) const {
  constexpr unsigned kMostInARow = 64;
  auto execution = compare::find_execution(actual_, reader);
  for (unsigned i = 0; execution && i < kMostInARow; ++i) {
    const auto at = static_cast<std::uint32_t>(*execution);
    const compare::Wiring::Recorded recorded = actual_wiring_.recorded(at, input);
    if (recorded.is_known && !recorded.maker) return std::string();
    const compare::Wiring::Writers writers = actual_wiring_.writers(at, input);
    if (writers.executions.empty() || !writers.are_whole) return std::nullopt;
    const std::uint32_t writer = std::ranges::max(writers.executions);
    const dump::OperatorRun run = actual_.without_slots(writer);
    if (!actual_wiring_.is_view(writer) && !model::has_trait(run.type, model::Trait::casts))
      return one_line(operator_name(run));
    execution = writer;
    input = 0;
  }
  return std::nullopt;
}

// Actual's memory was not changed: the program gives it another tensor.
void InputSearch::blame_other_maker(std::uint32_t i, const SlotComparison& slot, const std::string& other,
                                    const std::string& made_by) {
  const std::string name = compare::slot_name(slot);
  if (other.empty())
    findings_.add(i, Cause::input, Confidence::certain, name,
                  "it is another tensor than what " + made_by + " made" + describe_view(i));
  else
    findings_.add(i, Cause::sequence, Confidence::certain, {},
                  Rewired{name, other, made_by}.describe() + describe_view(i));
}

// Whether steps between a culprit and this operator were not recorded: they have changed the weights.
bool InputSearch::comes_after_a_gap(const OperatorComparison& reader) const {
  const std::int64_t step = reader.golden->step;
  const auto is_earlier = [&](const Finding& finding) {
    return finding.confidence == Confidence::certain && finding.op.run().step < step;
  };
  return std::ranges::any_of(findings_.all(), is_earlier) &&
         !has_step(golden_, reader.golden->rank, step - 1);
}

// An input may be the gradient of a compiled region that was found before.
bool InputSearch::may_be_gradient() const {
  return lacks_gradients_ && std::ranges::any_of(findings_.all(), [](const Finding& finding) {
           return model::has_trait(finding.op.run().type, model::Trait::region);
         });
}

// The first of these explains all others, as another batch does. `maker` made all of what actual reads.
void InputSearch::blame_shape(std::uint32_t i, const SlotComparison& slot, const Elements& golden,
                              const Elements& actual, const std::optional<dump::OperatorRun>& maker) {
  if (have_other_shapes_ || !slot.golden->shape || !slot.actual->shape) return;
  if (slot.metrics && !is_beyond_rounding(slot)) return;  // in the rows that both runs have
  have_other_shapes_ = true;
  const std::string view = describe_view(i),
                    recorded = recorded_maker(*suspects_[i].actual, slot.actual->index);
  const bool has_maker = maker || !view.empty() || !recorded.empty();
  findings_.add(i, Cause::input, Confidence::certain, compare::slot_name(slot),
                (has_maker ? "" : "no recorded operator made it, and ") + std::string("it ") +
                    compare::describe_shapes(slot) +
                    (maker               ? " of what " + one_line(operator_name(*maker)) + " made"
                     : !recorded.empty() ? ", where " + recorded + " made it"
                                         : "") +
                    describe_dummy(*slot.golden, golden, *slot.actual, actual) + view);
}

// What actual reads is made by an operator that comes later in golden: another order, or another operator.
void InputSearch::note_later_maker(std::uint32_t i, const SlotComparison& slot, const Elements& golden,
                                   std::uint32_t producer) {
  if (is_paired(suspects_[producer])) note_other_maker(i, slot, golden, *suspects_[producer].golden);
}

// Whether actual reads what `maker` made, as golden did, and golden reads what another one made.
bool InputSearch::note_other_maker(std::uint32_t i, const SlotComparison& slot, const Elements& golden,
                                   const dump::OperatorRun& maker) {
  // They compute the same of other tensors, or what follows them differs.
  if (suspects_.rewritten().contains(*suspects_[i].golden)) return true;
  const auto other = find_producer(golden_, *suspects_[i].golden, golden);
  if (!other || are_one(*other, maker)) return false;
  if (blame_single(i, *other)) return true;
  Rewired rewired{compare::slot_name(slot), one_line(operator_name(maker)), one_line(operator_name(*other))};
  if (const std::string view = describe_view(i); !view.empty())
    findings_.add(i, Cause::sequence, Confidence::certain, {}, rewired.describe() + view);
  rewired_.emplace(i, std::move(rewired));
  return true;
}

std::uint32_t InputSearch::first_alike(std::uint32_t rewired) const {
  const Rewired& last = rewired_.at(rewired);
  for (const auto& [i, first] : rewired_)
    if (first.maker == last.maker && first.golden_maker == last.golden_maker) return i;
  return rewired;
}

// "; before it, Default/slice-op1 has other arguments: ..."; empty if no view has.
std::string InputSearch::describe_view(std::uint32_t i) const {
  const std::string_view view = suspects_.view_before(i);
  return view.empty() ? std::string() : "; before it, " + std::string(view);
}

// If only golden has it, which says nothing.
bool InputSearch::may_be_unseen(const dump::OperatorRun& producer) const {
  const auto place = suspects_.find_golden(producer);
  return place && !is_paired(suspects_[*place]) && !is_certainly_single(suspects_[*place]);
}

// If actual lacks the operator that made what the operator `i` of golden reads.
bool InputSearch::blame_single(std::uint32_t i, const dump::OperatorRun& producer) {
  auto single = find_single(producer);
  if (single && model::has_trait(suspects_[*single].run().type, model::Trait::casts))
    single = find_copied(*single);
  if (!single) return false;
  // Where actual has operators of its own, they may compute the same in another way. A loop of its own
  // updates weights in no optimizer, and its steps may end elsewhere.
  const dump::OperatorRun& run = suspects_[*single].run();
  const bool is_update = compare::phase_of(run) == model::Phase::optimizer;
  const bool has_another_way = std::ranges::any_of(suspects_.all(), [&](const OperatorComparison& op) {
    if (op.golden != nullptr || !is_certainly_single(op) || op.run().rank != run.rank) return false;
    const model::Phase phase = compare::phase_of(op.run());
    return is_update && phase == model::Phase::forward
               ? op.run().type.ends_with('_')
               : op.run().step == run.step && phase == compare::phase_of(run);
  });
  findings_.add(*single, Cause::sequence, has_another_way ? Confidence::suspect : Confidence::certain, {},
                compare::only_in("golden", run) + ", where " + one_line(operator_name(*suspects_[i].golden)) +
                    " reads what it makes");
  return true;
}

// An operator of golden that actual lacks, by its place in suspects_.
std::optional<std::uint32_t> InputSearch::find_single(const dump::OperatorRun& run) const {
  for (const std::uint32_t i : singles_)
    if (const auto& golden = suspects_[i].golden; golden && are_one(*golden, run)) return i;
  return std::nullopt;
}

// Finds the operator that made what a copy of golden's copies, if only golden has that operator, too.
std::uint32_t InputSearch::find_copied(std::uint32_t copy) const {
  for (const SlotComparison& slot : suspects_[copy].slots) {
    if (compare::side_of(slot) != model::Side::input || slot.golden == nullptr) continue;
    const auto made = find_producer(golden_, *suspects_[copy].golden, elements_of(*slot.golden));
    if (const auto single = made ? find_single(*made) : std::nullopt) return *single;
  }
  return copy;
}

void InputSearch::note_outputs(std::uint32_t i) {
  copies_.note(suspects_.all(), i, produced_);
  for (const SlotComparison& slot : suspects_[i].slots) {
    if (!is_only_in_actual(slot) || compare::side_of(slot) != model::Side::output) continue;
    produced_.add(i, *slot.actual, norm_of(slot));
    produced_nothing_ = false;
  }
}

}  // namespace opdump::blame
