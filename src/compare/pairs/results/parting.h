// Where two programs part.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "compare/pairs/results/result_graph.h"

namespace opdump::compare {

// An execution of each run, golden's first: of the lines that lose results and read nothing that is lost, two
// of one part of a step that are made of the same, and of those the first. Nothing if one of the runs loses
// nothing, or only what may be rounding, or computes with 16 bits.
std::optional<std::pair<std::uint32_t, std::uint32_t>> find_parting(const ResultGraph& golden,
                                                                    const ResultGraph& actual);

}  // namespace opdump::compare
