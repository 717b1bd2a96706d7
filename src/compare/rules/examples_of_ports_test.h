// Examples of rules about a program and its port, which share no operators.
#pragma once

#include <string>
#include <vector>

#include "compare/rules/example_program_test.h"

namespace opdump::compare {

// A program and its port share the first operator; then each has a chain of its own, and the gradient of the
// last operator.
struct Chain {
  std::vector<std::string> names;
  Tensors results;
};
inline void fill_port(Program& golden, Program& actual, const Chain& of_golden, const Chain& of_actual) {
  using Input = dump::CallWiring::Input;
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 9}, exp{2, 7, 1, 8, 2, 8, 1, 9};
  const auto fill = [&](Program& run, const Chain& chain) {
    const auto& [names, results] = chain;
    run.logged("Default/exp-op0", {x}, {exp}).wired("Default/exp-op0", {{.is_outside = true}});
    std::string before = "Default/exp-op0";
    std::vector<float> read = exp;
    for (std::size_t i = 0; i < names.size(); ++i) {
      run.logged(names[i], {read}, {results[i]})
          .wired(names[i], {Input{.index = 0, .maker = {{.name = before}}}});
      before = names[i];
      read = results[i];
    }
    const std::string ones = "Gradients/Default/ones_like-op0";
    run.logged(ones, {read}, {{1}}, {.phase = model::Phase::backward})
        .wired(ones, {Input{.index = 0, .maker = {{.name = before}}}});
  };
  fill(golden, of_golden);
  fill(actual, of_actual);
}

inline const std::vector<float> kInside{-2, 3, -3, 4, -2, 4, -3, 5},
    kNormal{-1, 1, -1.5F, 2, 0, 2, -1.5F, 2.5F}, kSquare{1, 1, 2.25F, 4, 0.5F, 4, 2.25F, 6.25F};

inline void fill_parting(Program& golden, Program& actual) {
  fill_port(golden, actual,
            {{"Default/norm-op0", "Default/pow-op0", "Default/mean-op0"}, {kNormal, kSquare, {2.656F}}},
            {{"Default/sub-op0", "Default/mul-op0", "Default/square-op0", "Default/sum-op0"},
             {kInside, {-1, 2, -1, 3, 0, 3, -1, 4}, {1, 4, 1, 9, 0.5F, 9, 1, 16}, {5.187F}}});
}

inline void fill_same_results(Program& golden, Program& actual) {
  std::vector<float> normal = kNormal;
  normal[4] = 5e-5F;  // 0 in golden
  fill_port(golden, actual,
            {{"Default/neg-op0", "Default/norm-op0", "Default/pow-op0", "Default/mean-op0"},
             {{-2, -7, -1, -8, -2, -8, -1, -9}, kNormal, kSquare, {2.656F}}},
            {{"Default/neg-op0", "Default/sub-op0", "Default/norm-op0", "Default/square-op0",
              "Default/clamp-op0", "Default/sum-op0"},
             {kInside, {-4, 6, -6, 8, -4, 8, -6, 10}, normal, kSquare, kInside, {2.656F}}});
}

}  // namespace opdump::compare
