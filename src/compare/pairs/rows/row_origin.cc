#include "compare/pairs/rows/row_origin.h"

#include <algorithm>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// Executions before that of the first module.
std::uint32_t count_before_modules(const dump::Runs& runs) {
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    if (!is_outside_modules(runs.without_slots(i))) return i;
  return 0;
}

}  // namespace

RowOrigins::RowOrigins(const PairedRuns& runs)
    : runs_(runs),
      golden_before_(count_before_modules(runs.runs(true))),
      actual_before_(count_before_modules(runs.runs(false))) {}

// Data that a program prepares: before it calls the model, of one tensor, or of places and masks, which are
// no weights.
bool RowOrigins::prepares_data(bool is_golden, std::uint32_t execution) const {
  if (execution < (is_golden ? golden_before_ : actual_before_)) return true;
  const dump::OperatorRun run = runs_.runs(is_golden)[execution];
  const auto is_tensor = [](const dump::Slot& slot) {
    return slot.side == model::Side::input && slot.shape && slot.shape->rank() > 0;
  };
  const auto has_numbers = [&](const dump::Slot& slot) {
    return is_tensor(slot) && model::is_floating(slot.dtype);
  };
  return is_outside_modules(run) &&
         (std::ranges::count_if(run.slots, is_tensor) <= 1 || std::ranges::none_of(run.slots, has_numbers));
}

// Places made of numbers outside the model, as the tokens that it gave most weight: data again.
bool RowOrigins::chooses_places(bool is_golden, std::uint32_t execution) const {
  if (!is_outside_modules(runs_.runs(is_golden).without_slots(execution))) return false;
  bool reads_numbers = false, makes_places = false;
  for (const dump::Slot& slot : runs_.runs(is_golden).slots(execution)) {
    const bool is_input = slot.side == model::Side::input;
    reads_numbers |= is_input && model::is_floating(slot.dtype);
    makes_places |= !is_input && model::dtype_info(slot.dtype).kind == model::DTypeKind::signed_integer;
  }
  return reads_numbers && makes_places;
}

RowOrigin RowOrigins::of(bool is_golden, std::uint32_t reader, std::uint32_t input) {
  const Wiring::Writers writers = runs_.wiring(is_golden).writers(reader, input);
  RowOrigin origin = writers.are_whole ? RowOrigin::data : RowOrigin::paired;
  for (const std::uint32_t writer : writers.executions)
    origin = std::max(origin, of_result(is_golden, writer));
  return origin;
}

RowOrigin RowOrigins::of_result(bool is_golden, std::uint32_t execution) {
  const std::pair key(is_golden, execution);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  known_[key] = RowOrigin::data;  // of what writes to what it reads
  const dump::Runs& runs = runs_.runs(is_golden);
  const OperatorRole role = kind_of(runs.without_slots(execution).type).role;
  const auto place = runs_.place_of(is_golden, execution);
  RowOrigin origin = RowOrigin::data;
  if (only_chooses(is_golden, execution) || chooses_places(is_golden, execution)) {
    origin = RowOrigin::chosen;
  } else if (place && role == OperatorRole::computes) {
    if (runs_.has_other_output(*place))
      origin = RowOrigin::paired;
    else if (!prepares_data(is_golden, execution) || of_inputs(is_golden, execution) > RowOrigin::chosen)
      origin = RowOrigin::computed;
  } else if (role != OperatorRole::makes) {
    origin = of_inputs(is_golden, execution);
  }
  return known_[key] = origin;
}

bool RowOrigins::only_chooses(bool is_golden, std::uint32_t execution) {
  const dump::OperatorRun run = runs_.runs(is_golden).without_slots(execution);
  return is_outside_modules(run) && kind_of(run.type).role == OperatorRole::computes &&
         model::has_trait(run.type, model::Trait::chooses) &&
         of_inputs(is_golden, execution) <= RowOrigin::chosen;
}

RowOrigin RowOrigins::of_inputs(bool is_golden, std::uint32_t execution) {
  RowOrigin origin = RowOrigin::data;
  const auto wiring = runs_.runs(is_golden).wiring_of(execution);
  if (wiring == nullptr) return origin;
  for (const dump::CallWiring::Input& input : wiring->inputs)
    if (!input.is_overwritten) origin = std::max(origin, of(is_golden, execution, input.index));
  return origin;
}

}  // namespace opdump::compare
