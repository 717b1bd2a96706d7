#include "compare/wiring/makers.h"

#include <algorithm>
#include <cstddef>
#include <unordered_set>

namespace opdump::compare {
namespace {

constexpr std::uint64_t kMostElements = 1 << 22;  // of a tensor that has views
constexpr std::uint32_t kBefore = 64;             // operators, views among them, between one and its view

std::pair<std::uint64_t, std::uint64_t> print_key(const Fingerprint& print) {
  return {print.count, print.sum};
}

}  // namespace

bool is_view_of(const dump::Slot& part, const dump::Slot& whole) {
  const std::uint64_t count = element_count_of(part), all = element_count_of(whole);
  if (count == 0 || std::max(count, all) > kMostElements || (all > 1 && count >= all)) return false;
  const auto elements = elements_of(part);
  std::unordered_set<std::uint64_t> some;
  for (const std::size_t place : sample_places(elements.size())) some.insert(elements[place]);
  if (all > 1) return has_most(whole, some);
  return some.size() == 1 && elements_of(whole) == std::vector(some.begin(), some.end());
}

void Makers::find(Inputs inputs, const std::set<std::uint32_t>& passing) {
  // What passes on what it reads did not make it.
  while (!inputs.empty()) {
    find(inputs);
    Inputs next;
    for (const auto& input : inputs) {
      const auto maker = makers_.find(input);
      if (maker == makers_.end() || !passing.contains(maker->second)) continue;
      std::optional<std::uint32_t> source;  // the last input: the first one is where copy_ writes
      for (const dump::Slot& slot : runs_.slots(maker->second))
        if (slot.side == model::Side::input) source = slot.index;
      if (source) next.emplace_back(maker->second, *source);
    }
    std::ranges::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    std::erase_if(next, [&](const auto& input) { return makers_.contains(input); });
    inputs = std::move(next);
  }
  passing_ = passing;
}

void Makers::find(const Inputs& inputs) {
  struct Wanted {
    std::uint32_t reader = 0, input = 0;
    dump::Slot slot = {};
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Wanted>> wanted;  // by what is in them
  std::set<std::uint64_t> counts;
  std::uint32_t last = 0;
  for (const auto& [reader, input] : inputs)
    for (const dump::Slot& slot : runs_.slots(reader)) {
      if (slot.side != model::Side::input || slot.index != input) continue;
      const auto print = fingerprint_of(slot);
      if (!print) continue;
      wanted[print_key(*print)].push_back({reader, input, slot});
      counts.insert(print->count);
      last = std::max(last, reader);
    }
  for (std::uint32_t run = 0; run < last; ++run)
    for (const dump::Slot& slot : runs_.slots(run)) {
      if (slot.side != model::Side::output || !counts.contains(element_count_of(slot))) continue;
      const auto print = fingerprint_of(slot);
      const auto known = print ? wanted.find(print_key(*print)) : wanted.end();
      if (known == wanted.end()) continue;
      for (const Wanted& one : known->second)
        if (run < one.reader && runs_.section_of(run).rank == runs_.section_of(one.reader).rank)
          makers_[{one.reader, one.input}] = run;
    }
  for (const auto& [print, readers] : wanted)
    for (const Wanted& one : readers)
      if (!makers_.contains({one.reader, one.input}))
        if (const auto whole = find_whole(one.reader, one.slot)) makers_[{one.reader, one.input}] = *whole;
}

std::optional<std::uint32_t> Makers::find_whole(std::uint32_t reader, const dump::Slot& input) const {
  for (std::uint32_t run = reader; run-- > 0 && reader - run <= kBefore;) {
    if (runs_.section_of(run).rank != runs_.section_of(reader).rank) break;
    for (const dump::Slot& slot : runs_.slots(run))
      if (slot.side == model::Side::output && slot.dtype == input.dtype && is_view_of(input, slot))
        return run;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Makers::of(std::uint32_t reader, std::uint32_t input) const {
  auto found = makers_.find({reader, input});
  while (found != makers_.end() && passing_.contains(found->second)) {
    const std::uint32_t passed_on_by = found->second;
    found = makers_.lower_bound({passed_on_by, 0});
    if (found != makers_.end() && found->first.first != passed_on_by) return std::nullopt;
  }
  return found == makers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace opdump::compare
