// How the arguments of two executions of an operator differ.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "dump/read/operator_run.h"

namespace opdump::compare {

struct ArgumentDifference {
  std::string text;                   // "eps is 1e-05 in golden and 0.001 in actual"
  bool is_type = false;               // "another operator: Relu in golden and LeakyRelu in actual"
  std::set<std::uint32_t> constants;  // input indices of tensors that are numbers of the program and differ
};

// What the two executions are called, and what of them does not count.
struct ArgumentSides {
  std::string golden = "in golden", actual = "in actual";
  bool are_shards = false;  // lists of numbers may be sizes, and these differ
};

// Nothing where a dump does not know the arguments. Does not count: where and in which precision the operator
// computes (dtype, device, layout), numbers that differ by rounding, what an engine rewrites, and a size that
// differs as the shape of an input does.
std::optional<ArgumentDifference> find_argument_difference(const dump::OperatorRun& golden,
                                                           const dump::OperatorRun& actual,
                                                           const ArgumentSides& sides = {});

// Whether one of the two is an operator of the graph that an engine executes, and the other one of the graph
// as it was written: the engine may compute the same along other axes and in another layout.
bool is_rewritten_by_engine(const dump::OperatorRun* golden, const dump::OperatorRun* actual);

// How the state of the engine differs that the results of two executions depend on; empty where it does not,
// or is unknown. Null: nothing is known of the call.
struct StateDifference {
  std::string autocast;  // "autocast is bfloat16 in actual only"
  std::string
      generator;  // "the seed is 3 in golden and 9 in actual", "its generator is in another state: ..."
};
StateDifference find_state_difference(const dump::CallForm* golden, const dump::CallForm* actual);

// Says whether both executions drew random numbers from generators in the same state.
bool draw_the_same(const dump::CallForm* golden, const dump::CallForm* actual);

// Says whether a call runs generated code, which draws other random numbers than an eager run does from a
// generator in the same state.
bool has_own_random_numbers(const dump::CallForm* form);

}  // namespace opdump::compare
