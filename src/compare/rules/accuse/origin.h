// Where the inputs of the first bad operator come from: what a name says, "inputs already differ", leaves the
// reader alone where no operator is at fault.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "compare/comparison.h"
#include "compare/pairs/pairing.h"
#include "compare/wiring/wiring.h"

namespace opdump::compare {

// "input.1 is 0.25 in golden and 0.5 in actual", of tensors with one element each; empty of others.
std::string describe_numbers(const SlotComparison& slot);

// "is (4,10) in golden and (2,10) in actual"; of a tensor that is compared in the rows that both runs have,
// "has 5 where golden has 6".
std::string describe_shapes(const SlotComparison& slot);

struct InputOrigin {
  // "" where it is not known, or one of
  //   "input.0 was changed in memory after Default/fc/addmm-op0 had made it"
  //   "input.0 is (4,10) in golden and (2,10) in actual"
  //   "input.1 has 5 where golden has 6, made by Default/sub-op0 at a.py:12, in golden by Default/add-op0"
  //   "input.1 is 0.25 in golden and 0.5 in actual", which no operator made
  //   "input.0 is another part of what Default/fc/addmm-op0 made"
  //   "input.0 is what Default/norm-op0 made, in golden what Default/add-op0 made"
  //   "input.0 has golden's elements in another order (transposed?)"
  //   "input.0 is made by Default/fc/mul-op3, which only actual has"
  //   "input.0 is a part of a tensor, which only actual takes: Default/slice-op5"
  std::string text = {};
  // The last two: the place in `pairs` of that operator.
  std::optional<std::size_t> single = {};
  bool is_narrowed = false;  // it is a view that drops elements, which is no other way to compute the same
};

// Of an operator that both runs have, and whose inputs differ. What only copies data, as to another type, is
// not named.
InputOrigin find_input_origin(const OperatorComparison& op, const Wiring& golden, const Wiring& actual,
                              std::span<const OperatorPair> pairs);

// Of runs in two frameworks: an operator that only one of them has, which makes what the other one computed
// when it compiled its graph, or got from outside. Its place in `pairs`, and what it makes that of: "input.1
// is -1".
InputOrigin find_folded_operator(const OperatorComparison& op, const Wiring& golden, const Wiring& actual,
                                 std::span<const OperatorPair> pairs);

// The text about numbers, of runs in two frameworks, whoever made the number.
std::string explain_numbers(const OperatorComparison& op);

}  // namespace opdump::compare
