// What is known of how a tensor of one side corresponds to one of the other, and what comes of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/dtype.h"

namespace opdump::weights {

// Rows that correspond: golden, golden + golden_step, ... to actual, actual + actual_step, ...
struct RowRun {
  std::uint64_t golden = 0, actual = 0, count = 0;
  std::uint64_t golden_step = 1, actual_step = 1;
  bool operator==(const RowRun&) const = default;
};

// How the elements of the one are arranged in the other.
struct Arrangement {
  bool is_flat = false;                                 // the same row-major elements, whatever the shapes
  bool golden_swapped = false, actual_swapped = false;  // rows and columns are exchanged first
  std::vector<std::size_t> axes;                        // not empty: golden's axes in actual's order
  std::vector<RowRun> runs;
  // Tells people the order: "rows of 4 heads in the rotary order [0 2 4 ... 1 3 5 ...]"; empty if it is the
  // same.
  std::string order;
};

// How the pair was found.
enum class FoundBy : std::uint8_t { name, value, sibling, layers, words, rest };
inline constexpr std::string_view kFoundByNames[] = {"name",         "value", "weight beside it",
                                                     "other layers", "words", "what is left"};

struct WeightLink {
  std::size_t golden = 0, actual = 0;  // in the checkpoints
  FoundBy found_by = FoundBy::name;
  Arrangement arrangement;
  // The rows of the larger tensor that are the smaller one: "rows 64-127". Empty for tensors of one size.
  std::string golden_part, actual_part;
  std::uint64_t first_row = 0;  // of that part
};

}  // namespace opdump::weights
