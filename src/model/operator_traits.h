// What is known of operators by their type, whatever runs they are of: the table of
// python/opdump/operator_traits.json, which the Python package reads, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace opdump::model {

// In the table's order, under the same names; its sentences say what each means.
enum class Trait : std::uint8_t {
  random,
  copies,
  casts,
  overwrites,
  collective,
  region,
  divides,
  multiplies,
  convolves,
  reshapes,
  masks,
  chooses,
  hands_over,
  adds_first,
  quantises,
  dequantises,
  activation,
  adds_elements,
  adds_scaled,
  scales_elements,
  elementwise_lists,
  commutes,
};
inline constexpr std::string_view kTraitNames[] = {"random",      "copies",          "casts",
                                                   "overwrites",  "collective",      "region",
                                                   "divides",     "multiplies",      "convolves",
                                                   "reshapes",    "masks",           "chooses",
                                                   "hands_over",  "adds_first",      "quantises",
                                                   "dequantises", "activation",      "adds_elements",
                                                   "adds_scaled", "scales_elements", "elementwise_lists",
                                                   "commutes"};
static_assert(std::size(kTraitNames) == static_cast<std::size_t>(Trait::commutes) + 1);

// Whether operators of a type ("aten::" left out) have a trait. Thread-safe.
bool has_trait(std::string_view type, Trait trait);

// What operators of several frameworks are together: `name` is "conv" for "conv2d" and "qlinearconv", and
// empty where the table has no kind. `moves`: its results have the elements of what it reads. `makes`: it
// reads no data.
struct KindInTable {
  std::string_view name = {};
  bool moves = false, makes = false;
};

// Of a type in small letters, without '_' and without a version at its end.
KindInTable find_kind(std::string_view plain_type);

}  // namespace opdump::model
