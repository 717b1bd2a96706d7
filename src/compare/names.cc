#include "compare/names.h"

namespace opdump::compare {

const std::string& operator_name(const dump::OperatorRun& run) {
  return run.op != nullptr ? run.op->name : run.name;
}

std::string slot_name(const dump::Slot& slot) {
  return std::string(model::kSideNames[static_cast<std::size_t>(slot.side)]) + "." +
         std::to_string(slot.index);
}

std::string slot_name(const SlotComparison& slot) {
  return slot_name(slot.golden != nullptr ? *slot.golden : *slot.actual);
}

}  // namespace opdump::compare
