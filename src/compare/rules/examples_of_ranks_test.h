// Examples of rules whose runs have several ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/rules/example_program_test.h"

namespace opdump::compare {

// Rank 1 computes otherwise, and a collective hands that on.
inline void fill_ranks(Program& golden, Program& actual) {
  const auto fill = [](Program& run, float number) {
    const auto reduce = [number](Program& of_rank, float mine) {
      of_rank.op("exp.e", {{1, 2}}, {{mine, 2}}).op("all_reduce.r", {{mine, 2}}, {{1 + number, 4}});
    };
    reduce(run, 1);
    run.rank(1, [&](Program& other) { reduce(other, number); });
  };
  fill(golden, 3);
  fill(actual, 5);
}

// Each of two ranks has half of a sum, and gets another one; nothing reads it.
inline void fill_shards(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const Tensors& inputs, const std::vector<float>& terms, float sum) {
    run.logged("Default/fc-Linear/mm-op0", inputs, {terms})
        .logged("Default/all_reduce-op0", {terms}, {{sum, 8}})
        .logged("Default/exp-op0", {{6, 8}}, {{1, 5}});
  };
  fill(golden, {{1, 2}}, {6, 8}, 6);
  fill(actual, {{1, 2}, {9, 9}}, {1, 2}, 7);
  actual.rank(1, [&](Program& other) { fill(other, {{1, 2}, {9, 9}}, {5, 6}, 7); });
}

inline void fill_no_reduction(Program& golden, Program& actual) {
  golden.logged("Default/fc-Linear/mm-op0", {{1, 2}}, {{6, 8}})
      .logged("Default/exp-op0", {{6, 8}}, {{10, 50}});
  const auto fill = [](Program& run, const std::vector<float>& terms, const std::vector<float>& wrong) {
    run.logged("Default/fc-Linear/mm-op0", {{1, 2}}, {terms}).logged("Default/exp-op0", {terms}, {wrong});
  };
  fill(actual, {1, 2}, {2, 7});
  actual.rank(1, [&](Program& other) { fill(other, {5, 6}, {20, 30}); });
}

inline void fill_rows(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const std::vector<float>& rows, const std::vector<std::int64_t>& places,
                       const std::vector<float>& found) {
    const std::string slots = "embedding.Default_embedding-op0";
    run.say("Default/embedding-op0")
        .dump()
        .tensor(slots + ".input.0", rows, "(" + std::to_string(rows.size()) + ", 1)");
    run.places(slots + ".input.1", places).dump().tensor(slots + ".output.0", found, "(2, 1)");
  };
  fill(golden, {1, 2, 3, 4}, {2, 0}, {3, 1});
  fill(actual, {1, 2}, {0, 0}, {1, 1});
  actual.rank(1, [&](Program& other) { fill(other, {3, 4}, {0, 0}, {3, 3}); });
}

// Where each row begins, as a rank counts it in its half of the batch.
inline void fill_places(Program& golden, Program& actual) {
  const auto fill = [](Program& run, const std::vector<std::int64_t>& places,
                       const std::vector<float>& sums) {
    run.say("Default/arange-op0").places("arange.Default_arange-op0.output.0", places);
    run.logged("Default/exp-op0", {sums}, {sums});
  };
  fill(golden, {0, 6, 12, 18}, {1, 2, 3, 4});
  fill(actual, {0, 6}, {1, 2});
  actual.rank(1, [&](Program& other) { fill(other, {0, 6}, {3, 4}); });
}

}  // namespace opdump::compare
