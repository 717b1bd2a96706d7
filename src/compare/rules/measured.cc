#include "compare/rules/measured.h"

#include "compare/measure/measure.h"
#include "compare/pairs/make_operator.h"
#include "compare/rules/evidence.h"

namespace opdump::compare {

OperatorComparison measured(const Study& study, std::size_t place) {
  OperatorComparison op = make_operator(study.pairs[place], *study.golden, *study.actual, study.relation);
  for (SlotComparison& slot : op.slots) measure_slot(slot, *study.options, 1);
  judge_by_evidence(op);
  return op;
}

}  // namespace opdump::compare
