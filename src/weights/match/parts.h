// Parts of a larger tensor of the other side.
#pragma once

#include "weights/match/matching.h"
#include "weights/match/order.h"

namespace opdump::weights {

struct PlacedPart {
  std::size_t tensor = 0;  // of the side that has parts
  PartPlace place;
};

// Whose rows and columns are exchanged first.
struct PartSwaps {
  bool part = false, whole = false;
};

// Measures a part against its place in a tensor of `rows` rows.
LinkResult measure_part(const Matching& matching, const PlacedPart& part, std::size_t whole,
                        std::uint64_t rows, PartSwaps swaps, bool golden_is_whole, FoundBy found_by);

}  // namespace opdump::weights
