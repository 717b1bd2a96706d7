#include "compare/pairs/sharded/rank_groups.h"

#include <algorithm>
#include <cstdint>

#include "compare/measure/sharded/shard_layout.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostGroupings = 64;

// Ranks with equal places in the dimensions of the mesh that are in `chosen` stand together.
RankGroups group_by(const std::vector<std::int64_t>& mesh, std::uint64_t chosen, std::size_t many,
                    std::size_t few) {
  RankGroups groups(few);
  for (std::size_t rank = 0; rank < many; ++rank) {
    std::size_t group = 0, left = rank, scale = 1;
    for (std::size_t i = mesh.size(); i-- > 0;) {
      const auto size = static_cast<std::size_t>(mesh[i]);
      if ((chosen >> i & 1) != 0) {
        group += left % size * scale;
        scale *= size;
      }
      left /= size;
    }
    groups[group].push_back(rank);
  }
  return groups;
}

}  // namespace

std::vector<RankGroups> find_rank_groups(std::size_t many, std::size_t few) {
  std::vector<RankGroups> all;
  if (few == 0 || many % few != 0) return all;
  for (const std::vector<std::int64_t>& mesh : meshes_of(many))
    for (std::uint64_t chosen = 0; chosen >> mesh.size() == 0; ++chosen) {
      std::size_t count = 1;
      for (std::size_t i = 0; i < mesh.size(); ++i)
        if ((chosen >> i & 1) != 0) count *= static_cast<std::size_t>(mesh[i]);
      if (count != few || all.size() >= kMostGroupings) continue;
      RankGroups groups = group_by(mesh, chosen, many, few);
      if (std::ranges::find(all, groups) == all.end()) all.push_back(std::move(groups));
    }
  std::ranges::stable_sort(all, {}, [](const RankGroups& groups) { return groups[0].back(); });
  return all;
}

}  // namespace opdump::compare
