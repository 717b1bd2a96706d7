#include "compare/pairs/filtered.h"

#include <cstdint>
#include <string_view>

#include "base/text/text.h"

namespace opdump::compare {
namespace {

// "golden has a part of the operators (kernels ["Conv2D"] in data_dump.json): 37 operators of actual are left
// out".
std::string describe(std::string_view side, std::string_view other, const dump::DumpFilter& filter,
                     std::uint64_t count) {
  const std::string what = !filter.operators.empty() ? filter.operators
                           : filter.inputs           ? "inputs only"
                                                     : "outputs only";
  std::string text = std::string(side) + " has a part of the operators (" + what;
  if (!filter.source.empty()) text += " in " + filter.source.string();
  return text + "): " + counted(count, "operator") + " of " + std::string(other) +
         inflect(count, " is", " are") + " left out";
}

// Whether an operator has nothing of the one side that a configuration asks for.
bool lacks_side(const dump::DumpFilter& filter, const dump::Runs& runs, std::uint32_t run) {
  if (filter.inputs == filter.outputs || filter.source.empty()) return false;
  for (const dump::Slot& slot : runs.slots(run))
    if (slot.has_data() && (slot.side == model::Side::input) == filter.inputs) return false;
  return true;
}

}  // namespace

bool FiltersOfBoth::explain(const OperatorPair& pair, const dump::Runs& golden_runs,
                            const dump::Runs& actual_runs) const {
  if (pair.is_whole()) return false;
  const bool is_golden = pair.golden != OperatorPair::kNone;
  const dump::DumpFilter* const filter = is_golden ? actual : golden;
  if (filter == nullptr || !filter->leaves_out()) return false;
  const dump::Runs& runs = is_golden ? golden_runs : actual_runs;
  const std::uint32_t run = is_golden ? pair.golden : pair.actual;
  return filter->may_lack(runs.without_slots(run)) || lacks_side(*filter, runs, run);
}

void mark_filtered(const dump::DumpSet& golden, const dump::DumpSet& actual, std::vector<OperatorPair>& pairs,
                   std::vector<std::string>& notes) {
  const FiltersOfBoth filters{.golden = &golden.filter(), .actual = &actual.filter()};
  std::uint64_t of_golden = 0, of_actual = 0;
  for (OperatorPair& pair : pairs) {
    if (pair.is_alone || pair.fusion != Fusion::none || !filters.explain(pair, golden.runs(), actual.runs()))
      continue;
    ++(pair.golden != OperatorPair::kNone ? of_golden : of_actual);
    pair.fusion = Fusion::filtered;
  }
  if (of_golden > 0) notes.push_back(describe("actual", "golden", actual.filter(), of_golden));
  if (of_actual > 0) notes.push_back(describe("golden", "actual", golden.filter(), of_actual));
}

}  // namespace opdump::compare
