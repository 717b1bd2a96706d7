#include "report/module_table.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "report/table.h"

namespace opdump::report {

ModuleTable::Totals& ModuleTable::Totals::operator+=(const Totals& more) {
  operators += more.operators;
  differing += more.differing;
  worst = std::max(worst, more.worst);
  if (more.first_step) first_step = std::min(first_step.value_or(*more.first_step), *more.first_step);
  return *this;
}

void ModuleTable::add(const compare::OperatorComparison& op) {
  Totals totals{.operators = 1};
  const bool differs = !op.is_alone && !compare::is_fine(op.verdict);
  if (differs) {
    totals.differing = 1;
    totals.first_step = op.run().step;
    const compare::SlotComparison* const slot = compare::key_slot(op);
    if (slot != nullptr && slot->metrics && !std::isnan(slot->metrics->relative_l2))
      totals.worst = slot->metrics->relative_l2;
  }
  tree_.add(compare::module_of(op.run()), totals);
}

void ModuleTable::print(std::size_t width, std::size_t most,
                        const std::function<void(std::string_view line)>& write) const {
  const auto rows = tree_.rows(most);
  if (rows.empty()) return;
  std::vector<std::vector<std::string>> lines{
      {"module", "operators", "differ", "relative error", "since step"}};
  for (const auto& row : rows)
    lines.push_back({std::string(2 * row.depth, ' ') + compare::one_line(row.name),
                     std::to_string(row.totals.operators), std::to_string(row.totals.differing),
                     row.totals.worst > 0 ? format_g(row.totals.worst) : "",
                     row.totals.first_step ? std::to_string(*row.totals.first_step) : ""});
  for (const std::string& line : format_columns(lines, width)) write(line);
}

}  // namespace opdump::report
