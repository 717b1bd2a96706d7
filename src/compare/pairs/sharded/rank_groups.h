// Which ranks of a run hold together what one rank of a run with fewer ranks holds.
#pragma once

#include <cstddef>
#include <vector>

namespace opdump::compare {

// A group for each of `few` ranks: the places of those of `many` that stand for it, in order.
using RankGroups = std::vector<std::vector<std::size_t>>;

// All ways to do it, if the ranks lie row-major in a mesh of which `few` has some dimensions, or a part of
// one: those in which ranks that stand together are neighbours first. 4 ranks against 2 give {0 1} {2 3}, and
// {0 2} {1 3}. None unless `few` divides `many`.
std::vector<RankGroups> find_rank_groups(std::size_t many, std::size_t few);

}  // namespace opdump::compare
