#include "compare/runs/views.h"

#include <algorithm>

#include "compare/names.h"
#include "compare/verdict/arguments.h"

namespace opdump::compare {

std::string describe_other_view(const OperatorComparison& op) {
  if (op.golden == nullptr || op.actual == nullptr || op.verdict != Verdict::skipped) return "";
  if (!op.shards.empty() || op.is_across) return "";  // where views differ rightly
  const auto is_view = [](const SlotComparison& slot) {
    return slot.golden != nullptr && slot.golden->undumped_reason == "view";
  };
  if (std::ranges::none_of(op.slots, is_view)) return "";
  const auto difference = find_argument_difference(*op.golden, *op.actual);
  if (!difference) return "";
  const std::string source = op.run().op != nullptr ? model::format_source(*op.run().op) : "";
  return one_line(operator_name(op.run())) + (source.empty() ? "" : " at " + source) +
         " has other arguments: " + difference->text;
}

}  // namespace opdump::compare
