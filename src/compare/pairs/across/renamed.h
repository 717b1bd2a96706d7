// Runs of one framework whose modules have other names, as a port and its reference.
#pragma once

#include <cstdint>
#include <span>

#include "compare/operator_pair.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// The operators of modules that compute in the forward pass: how many golden and actual have, and how many of
// them have a partner that is one, too.
struct ForwardPairs {
  std::uint64_t golden = 0, actual = 0, paired = 0;
};
ForwardPairs count_forward_pairs(const dump::Runs& golden, const dump::Runs& actual,
                                 std::span<const OperatorPair> pairs);

// Whether names pair so few operators that the modules must have other names.
bool are_renamed(const ForwardPairs& by_name);

// Whether another pairing, by what operators compute, explains more: it pairs most of them.
bool is_better(const ForwardPairs& by_what_they_compute, const ForwardPairs& by_name);

}  // namespace opdump::compare
