#include "compare/pairs/rows/paired_runs.h"

#include <algorithm>
#include <map>
#include <utility>

namespace opdump::compare {

PairedRuns::PairedRuns(const dump::Runs& golden, const dump::Runs& actual,
                       std::span<const OperatorPair> pairs)
    : golden_(golden), actual_(actual), pairs_(pairs), golden_wiring_(golden), actual_wiring_(actual) {
  golden_places_.assign(golden.size(), OperatorPair::kNone);
  actual_places_.assign(actual.size(), OperatorPair::kNone);
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    if (!pairs[place].is_whole()) continue;
    golden_places_[pairs[place].golden] = static_cast<std::uint32_t>(place);
    actual_places_[pairs[place].actual] = static_cast<std::uint32_t>(place);
  }
}

std::optional<std::size_t> PairedRuns::place_of(bool is_golden, std::uint32_t execution) const {
  const std::uint32_t place = (is_golden ? golden_places_ : actual_places_)[execution];
  return place == OperatorPair::kNone ? std::nullopt : std::optional<std::size_t>(place);
}

std::vector<ShapedSlot> PairedRuns::slots(std::size_t place) const {
  struct Known {
    model::Shape shape;
    bool has_data = false;
  };
  std::map<std::pair<model::Side, std::uint32_t>, Known> in_golden;
  for (const dump::Slot& slot : golden_.slots(pairs_[place].golden))
    if (slot.shape) in_golden.try_emplace({slot.side, slot.index}, Known{*slot.shape, !slot.file.empty()});
  std::vector<ShapedSlot> found;
  for (const dump::Slot& slot : actual_.slots(pairs_[place].actual)) {
    const auto partner = in_golden.find({slot.side, slot.index});
    if (!slot.shape || partner == in_golden.end()) continue;
    found.push_back({.side = slot.side,
                     .index = slot.index,
                     .golden = partner->second.shape,
                     .actual = *slot.shape,
                     .has_data = partner->second.has_data && !slot.file.empty()});
    in_golden.erase(partner);
  }
  return found;
}

std::optional<dump::StoredTensor> PairedRuns::read_input(bool is_golden, std::size_t place,
                                                         std::uint32_t index) const {
  const OperatorPair& pair = pairs_[place];
  for (const dump::Slot& slot : runs(is_golden).slots(is_golden ? pair.golden : pair.actual)) {
    if (slot.side != model::Side::input || slot.index != index || slot.file.empty()) continue;
    auto tensor = dump::StoredTensor::read(slot);
    return tensor ? std::optional(std::move(*tensor)) : std::nullopt;
  }
  return std::nullopt;
}

bool PairedRuns::has_other_output(std::size_t place) const {
  const std::vector<ShapedSlot> all = slots(place);
  return std::ranges::any_of(
      all, [](const ShapedSlot& slot) { return slot.side == model::Side::output && slot.is_other_shape(); });
}

}  // namespace opdump::compare
