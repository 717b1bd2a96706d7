#include "blame/inputs/unread.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "blame/differences.h"
#include "compare/key_slots.h"
#include "compare/wiring/content.h"
#include "compare/wiring/producer.h"
#include "model/operator_traits.h"

namespace opdump::blame {
namespace {

using compare::OperatorComparison;
using compare::SlotComparison;

constexpr std::size_t kMaxEnds = 16;  // for each of which all later inputs are looked through

bool is_replaced(std::span<const OperatorComparison> readers, const compare::Fingerprint& output) {
  return std::ranges::any_of(readers, [&](const OperatorComparison& op) {
    return is_paired(op) && model::has_trait(op.run().type, model::Trait::masks) &&
           !differs(op, model::Side::output) &&
           std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
             return compare::side_of(slot) == model::Side::input && differs(slot) &&
                    compare::fingerprint_of(*slot.actual) == output;
           });
  });
}

// Whether an execution after `maker` reads a part of its output without the elements that differ.
bool is_read_in_part(const dump::Runs& runs, std::size_t maker, const SlotComparison& output,
                     std::span<const std::uint64_t> actual) {
  const auto golden = compare::elements_of(*output.golden);
  if (golden.size() != actual.size()) return false;
  std::unordered_set<std::uint64_t> same;
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (golden[i] == actual[i]) same.insert(actual[i]);
  constexpr std::size_t kFew = 4;  // values that many tensors have
  if (same.size() < kFew) return false;
  for (std::size_t i = maker + 1; i < runs.size() && runs.section_of(i).rank == runs.section_of(maker).rank;
       ++i)
    for (const dump::Slot& slot : runs.slots(i)) {
      if (slot.side != model::Side::input || !slot.shape || slot.dtype != output.actual->dtype) continue;
      const std::uint64_t count = compare::element_count_of(slot);
      if (count < kFew || count >= actual.size()) continue;
      const auto elements = compare::elements_of(slot);
      if (!elements.empty() &&
          std::ranges::all_of(elements, [&](std::uint64_t element) { return same.contains(element); }))
        return true;
    }
  return false;
}

}  // namespace

bool ends_unread(const dump::Runs& actual, std::span<const OperatorComparison> suspects, std::uint32_t first,
                 const std::set<std::uint32_t>& read) {
  std::size_t ends = 0;
  for (std::uint32_t i = first; i < suspects.size(); ++i) {
    const OperatorComparison& op = suspects[i];
    if (!is_paired(op)) return false;
    if (!differs(op, model::Side::output) || read.contains(i)) continue;
    const auto maker = compare::find_execution(actual, *op.actual);
    if (!maker || ++ends > kMaxEnds) return false;
    for (const SlotComparison& slot : op.slots) {
      if (compare::side_of(slot) != model::Side::output || !differs(slot)) continue;
      const auto elements = compare::elements_of(*slot.actual);
      if (elements.empty()) return false;
      if (!is_replaced(suspects.subspan(i + 1), compare::fingerprint_of(elements)) &&
          !is_read_in_part(actual, *maker, slot, elements))
        return false;
    }
  }
  return ends > 0;
}

}  // namespace opdump::blame
