#include "compare/pairs/results/made_tensors.h"

#include <algorithm>
#include <utility>

#include "compare/measure/measure.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostAlike = 256;

}  // namespace

std::optional<dump::Slot> slot_of(const dump::Runs& runs, const MadeTensor& made) {
  for (const dump::Slot& slot : runs.slots(made.execution))
    if ((slot.side == model::Side::input) == made.is_read && slot.index == made.output) return slot;
  return std::nullopt;
}

bool have_equal_elements(const dump::Runs& golden, const MadeTensor& g, const dump::Runs& actual,
                         const MadeTensor& a, const PrintTolerance& tolerance) {
  const auto in_golden = slot_of(golden, g), in_actual = slot_of(actual, a);
  SlotComparison slot;
  slot.golden = &*in_golden;
  slot.actual = &*in_actual;
  measure_slot(slot, {}, 1);
  return is_fine(slot.verdict) || (slot.metrics && slot.metrics->relative_l2 <= tolerance.elements);
}

std::optional<dump::StoredTensor> read_tensor(const dump::Runs& runs, const MadeTensor& made) {
  const auto slot = slot_of(runs, made);
  if (!slot) return std::nullopt;
  auto tensor = dump::StoredTensor::read(*slot, dump::Alignment::any);
  if (!tensor) return std::nullopt;
  return std::move(*tensor);
}

std::vector<const MadeTensor*> MadeByRun::find(const TensorPrint& print,
                                               const PrintTolerance& tolerance) const {
  std::vector<const MadeTensor*> found;
  const auto tensors = by_count_.find(print.exact.count);
  if (tensors == by_count_.end() || !std::isfinite(print.norm)) return found;
  const double equal = print.exact.count == 1 ? tolerance.numbers : tolerance.prints;
  const double width = equal * std::abs(print.norm);
  for (auto other = tensors->second.lower_bound(print.norm - width);
       other != tensors->second.end() && other->first <= print.norm + width && found.size() < kMostAlike;
       ++other)
    if (distance(print, other->second->print) <= equal) found.push_back(other->second);
  std::ranges::sort(found, {}, &MadeTensor::execution);
  return found;
}

}  // namespace opdump::compare
