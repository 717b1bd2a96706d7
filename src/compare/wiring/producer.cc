#include "compare/wiring/producer.h"

#include "compare/names.h"

namespace opdump::compare {

std::optional<std::size_t> find_execution(const dump::Runs& runs, const dump::OperatorRun& run) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const dump::Runs::Section& section = runs.section_of(i);
    if (section.rank == run.rank && section.step == run.step && section.graph_id == run.graph_id &&
        operator_name(runs.without_slots(i)) == operator_name(run))
      return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_last_output(const dump::Runs& runs, std::size_t reader,
                                            const std::function<bool(const dump::Slot& output)>& is_wanted) {
  for (std::size_t i = reader; i-- > 0 && runs.section_of(i).rank == runs.section_of(reader).rank;)
    for (const dump::Slot& slot : runs.slots(i))
      if (slot.side == model::Side::output && !slot.file.empty() && slot.shape && is_wanted(slot)) return i;
  return std::nullopt;
}

}  // namespace opdump::compare
