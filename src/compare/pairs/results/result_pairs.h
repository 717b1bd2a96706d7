// Pairs two programs that compute the same by other operators, as a model and its port: by what they make,
// whatever made it, and over all steps at once. A result is *shown* if the other run has it, or if something
// that it has is made of it: the inside of an operator that the other run computes in its own way is shown by
// what that operator makes. Else it is *lost*. Where a fault is, all that is made of it is lost, and the
// first lines that lose something are where the two programs part.
//
//   golden   x ─► layer_norm ─► linear ─► ...       both runs have what layer_norm and `add` make:
//   actual   x ─► mean, sub, mul, mean, add, rsqrt, mul, mul, add ─► linear ─► ...   all is shown
#pragma once

#include <optional>

#include "compare/pairs/pairing.h"
#include "compare/wiring/wiring.h"

namespace opdump::compare {

// Pairs the results that both runs have, and the two operators where the programs part, if they do, as
// Fusion::parting; all else is left out. Where results are lost and the programs do not part, as the updates
// of few parameters, Pairing::incomplete says which. Reads all tensors of both with `threads` threads.
// Nothing if the runs have no result in common, if a dump does not say who made what, or if the `accused`,
// which other pairs name as the first bad operator, may be it: unless each makes a result of its own, and
// neither is an operator that loses a result and reads nothing that is lost; and if they have other
// arguments, unless both make constants.
std::optional<Pairing> pair_results(const Wiring& golden, const Wiring& actual, unsigned threads,
                                    const std::optional<OperatorPair>& accused = {},
                                    bool has_other_arguments = false);

}  // namespace opdump::compare
