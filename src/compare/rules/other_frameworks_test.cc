// What rules say of a network in two frameworks.
#include <gtest/gtest.h>

#include <vector>

#include "compare/compare_fixture_test.h"
#include "compare/rules/example_program_test.h"

namespace opdump::compare {
namespace {

// Another implementation keeps the elements of what it multiplies in another order.
TEST_F(CompareTest, AProductOfOtherOperandsIsTheSameOfAnotherImplementation) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6, 7, 9}, b{2, 7, 1, 8, 2, 8, 1, 9}, q{3, 1, 4, 1, 5, 9, 2, 7},
      other_q{1, 3, 1, 4, 9, 5, 7, 2}, c{5, 7, 7, 2, 1, 5, 6, 7}, d{6, 9, 3, 1, 4, 7, 1, 9};
  const auto fill = [&](HandMade& dump, const char* exp, const char* mm, const char* tan,
                        const std::vector<float>& operand, const std::vector<float>& product,
                        const char* runtime) {
    Program(dump)
        .logged(exp, {a}, {b})
        .logged(mm, {operand, b}, {product})
        .logged(tan, {product}, {d})
        .status(runtime);
  };
  fill(*golden_, "Default/exp-op0", "Default/mm-op0", "Default/tan-op0", q, c, "torch 2.6");
  fill(*actual_, "Default/Exp-op0", "Default/MatMul-op0", "Default/Tan-op0", other_q, c, "mindspore 2.3");
  EXPECT_FALSE(compare().first_bad);
  CompareOptions without;
  without.without.insert("same-of-other-inputs");
  ASSERT_TRUE(compare(without).first_bad);
  EXPECT_EQ(comparison_.first_bad->run().name, "Default_mm-op0");
}

// What changes a weight before the network runs is no operator of it.
TEST_F(CompareTest, WhatAProgramComputesBeforeItsNetworkIsAWeight) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6, 7, 9}, b{2, 7, 1, 8, 2, 8, 1, 9}, w{3, 1, 4, 1, 5, 9, 2, 7},
      golden_w{6, 2, 8, 2, 10, 18, 4, 14}, c{8, 9, 9, 10, 12, 26, 5, 23}, d{5, 8, 5, 9, 7, 17, 3, 16};
  Program(*golden_)
      .logged("Default/mul_-op0", {w, {2}}, {golden_w})
      .logged("Default/exp-op0", {a}, {b})
      .logged("Default/add-op0", {b, golden_w}, {c})
      .status("torch 2.6");
  Program(*actual_)
      .logged("Default/Exp-op0", {a}, {b})
      .logged("Default/Add-op0", {b, w}, {d})
      .status("mindspore 2.3");
  const Comparison& compared = compare();
  ASSERT_TRUE(compared.first_bad);
  EXPECT_EQ(compared.first_bad->run().name, "Default_add-op0");
}

}  // namespace
}  // namespace opdump::compare
