#include "blame/inputs/copies.h"

#include "blame/differences.h"
#include "blame/inputs/origin.h"
#include "compare/key_slots.h"
#include "compare/rules/rounding/conditioning.h"
#include "model/operator_traits.h"

namespace opdump::blame {

void Copies::note(std::span<const compare::OperatorComparison> suspects, std::uint32_t i,
                  compare::ContentIndex& produced) {
  const compare::OperatorComparison& op = suspects[i];
  if (is_paired(op) || op.actual == nullptr || !model::has_trait(op.actual->type, model::Trait::casts))
    return;
  std::optional<model::DType> coarsest;
  std::set<model::DType> types;
  const auto add = [&](model::DType type) {
    if (!coarsest || compare::roundoff(type) > compare::roundoff(*coarsest)) coarsest = type;
  };
  bool is_of_data = true;
  for (const compare::SlotComparison& slot : op.slots) {
    if (slot.actual == nullptr) continue;
    add(slot.actual->dtype);
    types.insert(slot.actual->dtype);
    if (compare::side_of(slot) != model::Side::input) continue;
    const auto maker = produced.find(*slot.actual, norm_of(slot));
    if (maker && is_paired(suspects[*maker])) of_both_.insert(i);
    const auto data = maker ? type_of_data(*maker) : std::nullopt;
    if (data) add(*data);
    is_of_data &= data || (!maker && !find_producer(actual_, *op.actual, compare::elements_of(*slot.actual)));
  }
  // What copies without a conversion does so because of axes: of a view, which may have elements repeated.
  if (is_of_data && types.size() > 1) of_data_.emplace(i, *coarsest);
}

std::optional<model::DType> Copies::type_of_data(std::uint32_t i) const {
  const auto found = of_data_.find(i);
  return found == of_data_.end() ? std::nullopt : std::optional(found->second);
}

void Copies::settle(std::uint32_t i) {
  of_data_.erase(i);
  of_both_.insert(i);
}

}  // namespace opdump::blame
