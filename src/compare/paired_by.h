// How the partner of an operator was found: a word for reports, and how sure it is.
#pragma once

#include <cstdint>
#include <string_view>

namespace opdump::compare {

// How the partner of an operator was found.
enum class PairedBy : std::uint8_t {
  none,       // it has no partner
  name,       // of its rank, graph and step
  alignment,  // by shapes, neighbours and source lines, because one run has more of the same name
  graph,      // by name, in another graph
  shapes,     // by scope, type and shapes, because names differ
  fusion,     // it stands for the partner and those before it
  file,       // both are the only tensor of a dump
  // These pair runs of different frameworks (across/pair_across.h).
  map,
  values,
  weights,
  data_flow,
  path,
  order,
};
inline constexpr std::string_view kPairedByNames[] = {"none",      "name", "alignment", "graph",  "shapes",
                                                      "fusion",    "file", "map",       "values", "weights",
                                                      "data flow", "path", "order"};

// Pairs of less confidence are uncertain.
inline constexpr float kCertainPair = 0.75F;

}  // namespace opdump::compare
