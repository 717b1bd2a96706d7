#include "compare/pairs/rows/row_origin.h"

#include <algorithm>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"

namespace opdump::compare {
namespace {

// Data that a program prepares, before any module, of one tensor.
bool prepares_data(const dump::Runs& runs, std::uint32_t execution) {
  const dump::OperatorRun run = runs[execution];
  const std::string module = module_of(run);
  return (module.empty() || module == "Default") &&
         std::ranges::count_if(run.slots, [](const dump::Slot& slot) {
           return slot.side == model::Side::input && slot.shape && slot.shape->rank() > 0;
         }) <= 1;
}

}  // namespace

RowOrigin RowOrigins::of(bool is_golden, std::uint32_t reader, std::uint32_t input) {
  RowOrigin origin = RowOrigin::data;
  for (const std::uint32_t writer : runs_.wiring(is_golden).writers(reader, input))
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
  if (place && role == OperatorRole::computes) {
    if (runs_.has_other_output(*place))
      origin = RowOrigin::paired;
    else if (!prepares_data(runs, execution) || of_inputs(is_golden, execution) != RowOrigin::data)
      origin = RowOrigin::computed;
  } else if (role != OperatorRole::makes) {
    origin = of_inputs(is_golden, execution);
  }
  return known_[key] = origin;
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
