#include "msaccucmp/judge/numbered_names.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace opdump::msaccucmp {
namespace {

std::uint32_t hash_of(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
}

}  // namespace

std::size_t NumberedNames::slot_of(std::string_view name, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const Bucket slot = slots_[i];
    if (slot.number_end == 0 || (slot.hash == hash && at(slot.number_end - 1) == name)) return i;
  }
}

Result<> NumberedNames::grow() {
  constexpr std::size_t kLeastSlots = 64;
  ScratchVector<Bucket> grown;
  OPDUMP_CHECK_OK(grown.resize(std::max(kLeastSlots, 2 * slots_.size()), {}));
  const std::size_t mask = grown.size() - 1;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Bucket slot = slots_[i];
    if (slot.number_end == 0) continue;
    std::size_t to = slot.hash & mask;
    while (grown[to].number_end != 0) to = (to + 1) & mask;
    grown[to] = slot;
  }
  slots_ = std::move(grown);
  return ok();
}

Result<std::uint32_t> NumberedNames::add(std::string_view name) {
  if (3 * (places_.size() + 1) > 2 * slots_.size()) OPDUMP_CHECK_OK(grow());
  const std::uint32_t hash = hash_of(name);
  const std::size_t i = slot_of(name, hash);
  if (slots_[i].number_end == 0) {
    const auto place = texts_.add(name);
    if (!place) return Error(Code::limit, "there is no room for so many names");
    OPDUMP_CHECK_OK(places_.push_back(*place));
    slots_[i] = {hash, size()};
  }
  return slots_[i].number_end - 1;
}

std::optional<std::uint32_t> NumberedNames::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t end = slots_[slot_of(name, hash_of(name))].number_end;
  return end == 0 ? std::nullopt : std::optional(end - 1);
}

}  // namespace opdump::msaccucmp
