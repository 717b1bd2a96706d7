#include "compare/pairs/pair_slots.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace opdump::compare {

using dump::OperatorRun;
using dump::Slot;

std::vector<SlotPair> pair_slots(const OperatorRun& golden, const OperatorRun& actual, bool by_name) {
  using Position = std::tuple<model::Side, std::string_view, std::uint32_t>;
  // the position, and how many of the same came before
  std::map<std::pair<Position, std::size_t>, SlotPair> pairs;
  const auto add = [&](const OperatorRun& run, const Slot* SlotPair::*side) {
    std::map<Position, std::size_t> seen;
    for (const Slot& slot : run.slots) {
      const bool is_named = by_name && !slot.argument.empty();
      const Position position{slot.side, is_named ? slot.argument : std::string_view(),
                              is_named ? 0 : slot.index};
      pairs[{position, seen[position]++}].*side = &slot;
    }
  };
  add(golden, &SlotPair::golden);
  add(actual, &SlotPair::actual);
  std::vector<SlotPair> list;
  list.reserve(pairs.size());
  for (const auto& [key, pair] : pairs) list.push_back(pair);
  return list;
}

}  // namespace opdump::compare
