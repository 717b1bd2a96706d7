#include "compare/pairs/sharded/recorded_layout.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "compare/pairs/sharded/shard_rules.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostDimensions = 8;

// The place of a rank in row-major order; nothing if it is outside of the mesh.
std::optional<std::size_t> index_of(const dump::CallLayout& layout) {
  if (layout.place.size() != layout.mesh.size()) return std::nullopt;
  std::size_t index = 0;
  for (std::size_t i = 0; i < layout.mesh.size(); ++i) {
    if (layout.place[i] < 0 || layout.place[i] >= layout.mesh[i]) return std::nullopt;
    index = index * static_cast<std::size_t>(layout.mesh[i]) + static_cast<std::size_t>(layout.place[i]);
  }
  return index;
}

bool has_ranks(std::span<const std::int64_t> mesh, std::size_t ranks) {
  if (mesh.empty() || mesh.size() > kMostDimensions) return false;
  std::size_t count = 1;
  for (const std::int64_t size : mesh) {
    if (size < 1 || static_cast<std::uint64_t>(size) > ranks / count) return false;
    count *= static_cast<std::size_t>(size);
  }
  return count == ranks;
}

// A word for each dimension; nothing if one of them has no meaning.
std::optional<std::vector<std::optional<Placement>>> placements_in(std::string_view text,
                                                                   std::size_t dimensions) {
  std::vector<std::optional<Placement>> placements;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    placements.push_back(parse_placement(word));
    if (!placements.back() && word != "any") return std::nullopt;
  }
  return placements.size() == dimensions ? std::optional(placements) : std::nullopt;
}

}  // namespace

std::optional<RecordedLayout> find_recorded_layout(std::span<const dump::CallLayout> of_ranks,
                                                   const std::string& slot) {
  const std::size_t ranks = of_ranks.size();
  if (ranks == 0 || !has_ranks(of_ranks[0].mesh, ranks)) return std::nullopt;
  const auto first = of_ranks[0].slots.find(slot);
  if (first == of_ranks[0].slots.end()) return std::nullopt;
  RecordedLayout recorded{.known = {.mesh = of_ranks[0].mesh}, .places = std::vector(ranks, ranks)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const dump::CallLayout& own = of_ranks[rank];
    const auto found = own.slots.find(slot);
    const auto index = index_of(own);
    if (own.mesh != of_ranks[0].mesh || !index || recorded.places[*index] != ranks ||
        found == own.slots.end() || found->second != first->second)
      return std::nullopt;
    recorded.places[*index] = rank;
  }
  auto placements = placements_in(first->second, recorded.known.mesh.size());
  if (!placements) return std::nullopt;
  recorded.known.placements = std::move(*placements);
  return recorded;
}

}  // namespace opdump::compare
