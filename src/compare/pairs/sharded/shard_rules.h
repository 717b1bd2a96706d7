// What a user says of how ranks hold tensors, where it cannot be found:
//
//   mesh 2 2                                      # 4 ranks, row-major
//   attention/qkv  output.0  replicate shard:1:3  # axis 1, each of 3 blocks cut, by the second dimension
//   down           output    replicate sum
//
// A line has a part of an operator's name, a slot or a side ('*' for any), and a placement for each dimension
// of the mesh. The first line that fits applies. '#' begins a comment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compare/measure/sharded/shard_layout.h"
#include "dump/read/operator_run.h"

namespace opdump::compare {

struct ShardRules {
  struct Line {
    std::string op, slot;
    std::vector<Placement> placements;
  };
  std::vector<std::int64_t> mesh;  // empty: any
  std::vector<Line> lines;

  // Ranks of the mesh; 1 if it is empty.
  std::int64_t rank_count() const;
  // Finds the layout of a slot of the operator with this full name. It has no placements where no line fits.
  KnownLayout find(std::string_view op, const dump::Slot& slot) const;
};

// "replicate", "sum", "shard:1" or "shard:1:3"; nothing for another word.
std::optional<Placement> parse_placement(std::string_view word);

// Errors: usage, with the number of the line.
Result<ShardRules> parse_shard_rules(std::string_view text);

}  // namespace opdump::compare
