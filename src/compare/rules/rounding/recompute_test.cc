#include "compare/rules/rounding/recompute.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compare/compare_fixture_test.h"

namespace opdump::compare {
namespace {

constexpr model::Side kIn = model::Side::input, kOut = model::Side::output;
constexpr const char* kMask = R"({"grad_output":{"tensor":0},"self":{"tensor":1},"threshold":0})";
constexpr const char* kUpdate =
    R"({"self":{"tensor":0},"tensor1":{"tensor":1},"tensor2":{"tensor":2},"value":-0.5})";

TEST(Recompute, AMaskIsExact) {
  const auto mask = [](std::vector<float> output) {
    RecordedOperator execution("threshold_backward", kMask);
    execution.with(kIn, 0, {3}, {5, 6, 7})
        .with(kIn, 1, {3}, {1, 0, -1})
        .with(kOut, 0, {3}, std::move(output));
    return is_computed_right(execution.run);
  };
  EXPECT_EQ(mask({5, 0, 0}), true);
  EXPECT_EQ(mask({5, 6, 0}), false);
  EXPECT_EQ(mask({5.00001F, 0, 0}), false);
}

TEST(Recompute, AnUpdateMayBeRounded) {
  const auto update = [](float first) {
    RecordedOperator execution("addcdiv_", kUpdate);
    execution.with(kIn, 0, {2}, {1, 1}).with(kIn, 1, {2}, {1, 2}).with(kIn, 2, {2}, {3, 4});
    execution.with(kOut, 0, {2}, {first, 0.75F});
    return is_computed_right(execution.run);
  };
  const float right = 1 - 0.5F / 3;
  EXPECT_EQ(update(right), true);
  EXPECT_EQ(update(std::nextafter(right, 1.F)), true);
  EXPECT_EQ(update(right + 1e-6F), false);
}

TEST(Recompute, ADerivativeOfAnActivationMayBeRounded) {
  const auto backward = [](std::string type, float output) {
    RecordedOperator execution(std::move(type), R"({"grad_output":{"tensor":0},"output":{"tensor":1}})");
    execution.with(kIn, 0, {2}, {3, 3}).with(kIn, 1, {2}, {0.75F, 1}).with(kOut, 0, {2}, {output, 0});
    return is_computed_right(execution.run);
  };
  EXPECT_EQ(backward("sigmoid_backward", 0.5625F), true);
  EXPECT_EQ(backward("sigmoid_backward", std::nextafter(0.5625F, 1.F)), true);
  EXPECT_EQ(backward("sigmoid_backward", 0.5626F), false);
  EXPECT_EQ(backward("tanh_backward", 1.3125F), true);
  EXPECT_EQ(backward("tanh_backward", 1.3126F), false);
}

TEST(Recompute, OperandsAreBroadcast) {
  const auto compare = [](std::string arguments, model::Shape other, std::vector<float> values,
                          std::vector<float> output) {
    RecordedOperator execution("eq", std::move(arguments));
    execution.with(kIn, 0, {2, 2}, {1, 2, 3, 4}).with(kIn, 1, std::move(other), std::move(values));
    execution.with(kOut, 0, {2, 2}, std::move(output));
    return is_computed_right(execution.run);
  };
  const std::string tensors = R"({"self":{"tensor":0},"other":{"tensor":1}})";
  EXPECT_EQ(compare(tensors, {2, 1}, {2, 4}, {0, 1, 0, 1}), true);
  EXPECT_EQ(compare(tensors, {2}, {1, 4}, {1, 0, 0, 1}), true);
  EXPECT_EQ(compare(tensors, {}, {3}, {0, 0, 1, 0}), true);
  EXPECT_EQ(compare(tensors, {2, 1}, {2, 4}, {1, 0, 0, 1}), false);
  EXPECT_EQ(compare(tensors, {3}, {1, 2, 3}, {1, 1, 1, 0}), std::nullopt);  // no shapes of one call
  EXPECT_EQ(compare(R"({"self":{"tensor":0},"other":4})", {}, {0}, {0, 0, 0, 1}), true);
}

TEST(Recompute, WhatIsNotInTheDumpIsUnknown) {
  RecordedOperator other("mm", R"({"self":{"tensor":0}})");
  EXPECT_EQ(is_computed_right(other.run), std::nullopt);
  RecordedOperator mask("threshold_backward", kMask);
  mask.with(kIn, 0, {1}, {5}).with(kOut, 0, {1}, {5});
  EXPECT_EQ(is_computed_right(mask.run), std::nullopt);
  mask.with(kIn, 1, {1}, {1});
  EXPECT_EQ(is_computed_right(mask.run), true);
  for (const char* wrong : {"", "[]", R"({"grad_output":{"tensor":-1},"self":1})",
                            R"({"grad_output":{"tensor":0},"self":{"tensor":1},"threshold":"0"})"}) {
    mask.run.form = std::make_shared<const dump::CallForm>(dump::CallForm{.arguments = wrong});
    EXPECT_EQ(is_computed_right(mask.run), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace opdump::compare
