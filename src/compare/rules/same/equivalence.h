// Other ways to write the same program: operators that only one run has, while the other run has the tensors
// that they make. Fused optimizers, checkpoints and zero_grad(set_to_none=False) are such ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/rules/ledger.h"
#include "compare/rules/rule.h"

namespace opdump::compare {

// Of `singles`, pairs of which only one run has an operator (places in `pairs`, ascending): those with a
// result that the other run lacks. A result is recognised by its elements, in any order. The other run has it
//   - if an operator reads it that both runs have, because inputs are compared;
//   - if another one of `singles` reads it, whose own results are looked at; or a view of it, by the wiring
//   or
//     soon after;
//   - if an operator of the other run makes it in the same step, or what reads nothing, as a random draw, in
//   any:
//     bit by bit, or at a relative L2 distance of
//     at most 32 roundoffs, or four times `noise`, the largest of operators that both runs have; or, where
//     both are made of what rounding has left uncertain, each element as near as that;
//   - if several of `singles` of the other run make it in the same step, one behind the other.
// Integers may be read by any view of their shape: Python decides by masks. Of gradients that nothing reads
// in a step with an optimizer, nobody can tell a difference; nor of memory that actual alone has and keeps
// from step to step, if golden has nothing that actual lacks.
// A result that is not in the dump, as a sparse tensor, is there if something reads it, or if it is a view.
//
// The two operators of each of `open` are looked at like singles; whatever `noise`, equal then means within
// rounding. Besides, each of their inputs that differ must be a tensor
//   - that the other run has, too: the two read each other's (gradients are added in another order);
//   - that the operators of one of `open` made; or
//   - in modules that each run computes by operators of its own, that any operator of the run made.
// What weights, data and other modules hand on is thus a difference.
//
// `singles` may hold pairs of operators of both runs, too, which are perhaps others in each run: two
// operators that have no partner. Of these and of `open`, an operator that only others of them read shows
// nothing: what it makes must lead, by the wiring, to an operator that was compared and agrees, or to a
// tensor that the other run has. A program that takes a number of it to print it shows nothing, either.
std::vector<std::size_t> find_unexplained(const Study& study, const Ledger& ledger,
                                          std::span<const std::size_t> singles,
                                          std::span<const OpenPair> open, double noise);

}  // namespace opdump::compare
