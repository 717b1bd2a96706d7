#include "compare/numbered_names.h"

#include <algorithm>
#include <functional>

namespace opdump::compare {

std::size_t NumberedNames::slot_of(std::string_view name) const {
  std::size_t slot = std::hash<std::string_view>()(name) % slots_.size();
  while (slots_[slot] != 0 && at(slots_[slot] - 1) != name) slot = (slot + 1) % slots_.size();
  return slot;
}

void NumberedNames::grow() {
  constexpr std::size_t kLeastSlots = 64;
  slots_.assign(std::max(kLeastSlots, 2 * slots_.size()), 0);
  for (std::uint32_t number = 0; number < size(); ++number) slots_[slot_of(at(number))] = number + 1;
}

std::uint32_t NumberedNames::add(std::string_view name) {
  if (3 * (places_.size() + 1) > 2 * slots_.size()) grow();
  const std::size_t slot = slot_of(name);
  if (slots_[slot] == 0) {
    places_.push_back(texts_.add(name).value());
    slots_[slot] = size();
  }
  return slots_[slot] - 1;
}

std::optional<std::uint32_t> NumberedNames::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t found = slots_[slot_of(name)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

}  // namespace opdump::compare
