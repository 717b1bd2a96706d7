// What is said of the pairs when all are found.
#pragma once

#include "weights/match/matching.h"

namespace opdump::weights {

// Finds differences that a change of the network explains: a batch norm that was folded into the convolution
// before it, the gain of a norm that was folded into the products behind it, a norm that adds 1 to its
// weight.
void explain_folds(Matching& matching);

// Doubts equal elements that lie otherwise than those of the other weights: a square matrix that is not
// transposed although all others are, one layer whose rows have another order.
void doubt_the_odd(Matching& matching);

// Doubts layers and experts that follow each other in another order on the two sides.
void doubt_the_misplaced(Matching& matching);

// Notes of differences: which rows, whose values they are, whether they look as never loaded.
void describe_differences(Matching& matching);

}  // namespace opdump::weights
