// Any bytes as a file of --shard: an error with a line, or lines of which each has a placement for each
// dimension.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "compare/pairs/sharded/shard_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto rules = opdump::compare::parse_shard_rules({reinterpret_cast<const char*>(data), size});
  if (!rules) return 0;
  if (rules->rank_count() < 1) std::abort();
  for (const auto& line : rules->lines)
    if (line.placements.size() != rules->mesh.size()) std::abort();
  return 0;
}
