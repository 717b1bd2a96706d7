// The steps that find pairs, in the order in which they are made.
#pragma once

#include "weights/match/matching.h"

namespace opdump::weights {

// Equal names, then those that differ in what wrappers and prefixes add.
void pair_by_name(Matching& matching);
// Tensors with the same elements, rounded or transposed or in another order. Those of few different numbers,
// which say nothing, are left to the later steps.
void pair_by_value(Matching& matching);
// A tensor whose rows are those of several: q, k and v in one, experts in one.
void pair_merged(Matching& matching);
// The bias beside a weight that is paired lies as its weight.
void pair_siblings(Matching& matching);
// As the same weight of other layers is paired.
void pair_like_other_layers(Matching& matching);
// By the usual words for what they do, in the same layer.
void pair_by_words(Matching& matching);
// Equal tensors of few different numbers, whose names do not say which belongs to which.
void pair_simple(Matching& matching);
// The only two that are left of a shape.
void pair_rest(Matching& matching);

}  // namespace opdump::weights
