#include "compare/facts/compiled_regions.h"

#include <algorithm>
#include <set>

#include "base/text/text.h"
#include "compare/wiring/content.h"
#include "model/operator_traits.h"

namespace opdump::compare {

using dump::Runs;
using dump::Slot;

bool is_region_result(const Slot& slot) {
  return slot.side == model::Side::output && !slot.file.empty() && element_count_of(slot) > 0;
}

bool has_region_result(const Runs& runs, std::uint32_t run) {
  return std::ranges::any_of(runs[run].slots, is_region_result);
}

std::set<std::string> regions_with_operators(const Runs& runs) {
  std::set<std::string> regions;
  for (std::uint32_t run = 0; run < runs.size(); ++run)
    if (model::has_trait(runs.without_slots(run).type, model::Trait::region) && !has_region_result(runs, run))
      regions.insert(std::string(runs.without_slots(run).type));
  return regions;
}

std::optional<std::string> describe_regions(const Runs& runs, std::span<const std::uint32_t> unpaired,
                                            std::string_view side) {
  const std::set<std::string> marked = regions_with_operators(runs);
  std::set<std::string> regions;
  for (const std::uint32_t index : unpaired) {
    const dump::OperatorRun run = runs.without_slots(index);
    if (model::has_trait(run.type, model::Trait::region) && has_region_result(runs, index) &&
        !marked.contains(std::string(run.type)))
      regions.insert(run.name);
  }
  if (regions.empty()) return std::nullopt;
  return std::string(side) + " has " + counted(regions.size(), "compiled region") +
         inflect(regions.size(), " as one operator", " as one operator each") +
         "; --compiled aten records the operators in " + inflect(regions.size(), "it", "them") +
         ", run without the generated kernels";
}

}  // namespace opdump::compare
