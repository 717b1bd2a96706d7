// How ranks hold a tensor, as they have recorded it: what a DTensor says of its parts.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compare/measure/sharded/shard_layout.h"
#include "dump/logged_operator.h"

namespace opdump::compare {

struct RecordedLayout {
  KnownLayout known;
  std::vector<std::size_t> places;  // which rank has each place of the mesh, in row-major order
};

// Finds the layout of a slot, "input.0", in what each rank says of the same operator. Nothing unless the
// ranks agree and are those of the mesh.
std::optional<RecordedLayout> find_recorded_layout(std::span<const dump::CallLayout> of_ranks,
                                                   const std::string& slot);

}  // namespace opdump::compare
