#include "compare/rules/evidence.h"

#include "compare/key_slots.h"

namespace opdump::compare {
namespace {

void add_slot(const SlotComparison& slot, Evidence::OfSide& side) {
  side.differs |= is_difference(slot.verdict);
  side.is_unpaired |= slot.verdict == Verdict::missing || slot.verdict == Verdict::extra;
  side.is_unreadable |= slot.verdict == Verdict::unreadable;
  side.is_compared |= slot.verdict != Verdict::skipped;
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

}  // namespace

Evidence evidence_of(const OperatorComparison& op) {
  Evidence evidence;
  for (const SlotComparison& slot : op.slots)
    add_slot(slot, side_of(slot) == model::Side::output ? evidence.outputs : evidence.inputs);
  evidence.has_slots = !op.slots.empty();
  evidence.inputs.differs |= op.other_rank.has_value();
  return evidence;
}

void judge_by_evidence(OperatorComparison& op) {
  const Evidence evidence = evidence_of(op);
  const bool is_paired = op.golden != nullptr && op.actual != nullptr;
  const bool is_left_out = !is_paired && !evidence.has_slots && !op.left_out.empty();
  const bool is_skipped =
      is_left_out || (evidence.has_slots && !evidence.inputs.is_compared && !evidence.outputs.is_compared);
  op.verdict = is_paired || is_skipped ? verdict_of(evidence)
               : op.golden == nullptr  ? Verdict::extra
                                       : Verdict::missing;
  for (SlotComparison& slot : op.slots)
    if (slot.verdict == Verdict::own_error)
      slot.verdict = side_of(slot) == model::Side::output ? op.verdict : Verdict::input_differs;
}

}  // namespace opdump::compare
