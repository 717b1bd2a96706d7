#include "compare/rules/accuse/regions.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "base/text/text.h"
#include "compare/comparison.h"
#include "compare/facts/compiled_regions.h"
#include "compare/rules/rounding/conditioning.h"
#include "compare/wiring/content.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

using dump::Runs;
using dump::Slot;

// What rounding grows to in the depth of a network, in tolerances of a tensor's elements. Generated code adds
// up in another order.
constexpr double kRegionGrowth = 100;

bool is_near(const Slot& golden, const Slot& made) {
  const double limit =
      kRegionGrowth * std::max(default_tolerance(golden.dtype).rtol, default_tolerance(made.dtype).rtol);
  auto a = dump::StoredTensor::read(golden), b = dump::StoredTensor::read(made);
  if (!a || !b || !a->straighten() || !b->straighten()) return false;
  const auto metrics = math::compare_tensors(a->view(), b->view(), {});
  return metrics && metrics->nan_mismatch_count == 0 && metrics->relative_l2 <= limit;
}

// Whether golden has the tensor, read or made by an operator of the step.
bool has_tensor(const Runs& golden, std::int64_t step, const Slot& made) {
  const auto print = fingerprint_of(made);
  const double norm = norm_of_tensor(made).value_or(0);
  for (std::uint32_t run = 0; run < golden.size(); ++run) {
    if (golden.section_of(run).step != step) continue;
    for (const Slot& slot : golden.slots(run)) {
      if (slot.file.empty() || element_count_of(slot) != element_count_of(made)) continue;
      if (print && fingerprint_of(slot) == print) return true;  // a transposed one, too
      const double other = norm_of_tensor(slot).value_or(0);
      if (std::abs(other - norm) <= 0.1 * norm && is_near(slot, made)) return true;
    }
  }
  return false;
}

}  // namespace

Regions compare_regions(const dump::DumpSet& golden, const dump::DumpSet& actual,
                        std::span<const OperatorPair> pairs) {
  Regions regions;
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    const OperatorPair& pair = pairs[place];
    const bool is_in_golden = pair.golden != OperatorPair::kNone;
    const dump::OperatorRun run =
        is_in_golden ? golden.runs().without_slots(pair.golden) : actual.runs().without_slots(pair.actual);
    if (!model::has_trait(run.type, model::Trait::region)) continue;
    const bool golden_has = is_in_golden && has_region_result(golden.runs(), pair.golden);
    const bool actual_has =
        pair.actual != OperatorPair::kNone && has_region_result(actual.runs(), pair.actual);
    if (golden_has == actual_has) continue;
    const Runs &made_by = (golden_has ? golden : actual).runs(),
               &known = (golden_has ? actual : golden).runs();
    for (const Slot& slot : made_by.slots(golden_has ? pair.golden : pair.actual)) {
      if (!is_region_result(slot) || has_tensor(known, run.step, slot)) continue;
      regions.wrong = {.place = place,
                       .is_golden = golden_has,
                       .has_operators = regions_with_operators(made_by).contains(std::string(run.type))};
      return regions;
    }
    (golden_has ? regions.golden : regions.actual).insert(run.name);
  }
  return regions;
}

}  // namespace opdump::compare
