#include "compare/rules/rounding/conditioning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <memory>

namespace opdump::compare {
namespace {

// An operator whose slots have these norms in golden, and differ by these.
struct Measured {
  struct Tensor {
    model::Side side;
    model::Shape shape;
    double norm, distance;
  };
  std::deque<dump::Slot> slots;
  OperatorComparison op;

  Measured(const std::string& type, const std::vector<Tensor>& tensors) {
    dump::OperatorRun run;
    run.type = type;
    op.golden = op.actual = std::make_shared<const dump::OperatorRun>(run);
    std::uint32_t indices[2] = {};
    for (const Tensor& tensor : tensors) {
      dump::Slot& made = slots.emplace_back();
      made.side = tensor.side;
      made.index = indices[tensor.side == model::Side::output]++;
      made.dtype = model::DType::float32;
      SlotComparison slot;
      slot.golden = slot.actual = &made;
      slot.verdict = tensor.distance > 0 ? Verdict::own_error : Verdict::match;
      slot.dtype = made.dtype;
      slot.shape = tensor.shape;
      math::Metrics& metrics = slot.metrics.emplace();
      metrics.count = model::element_count(tensor.shape).value_or(0);
      metrics.rmse = tensor.distance / std::sqrt(static_cast<double>(metrics.count));
      metrics.max_abs = 2 * metrics.rmse;
      metrics.max_abs_golden = 1;
      metrics.max_abs_actual = 1 + metrics.max_abs;
      metrics.actual_norm = tensor.norm;
      metrics.relative_l2 = tensor.distance / tensor.norm;
      op.slots.push_back(slot);
    }
  }
};

constexpr model::Side kIn = model::Side::input, kOut = model::Side::output;

TEST(Conditioning, TermsOfSums) {
  const Measured product("mm", {{kIn, {4, 8}, 3, 1e-9}, {kIn, {8, 2}, 5, 1e-9}, {kOut, {4, 2}, 1, 1e-9}});
  EXPECT_NEAR(norm_of_terms(product.op, product.op.slots[2]).value_or(0), 15, 1e-6);
  const Measured sum("sum", {{kIn, {25, 4}, 3, 1e-9}, {kOut, {4}, 1, 1e-9}});
  EXPECT_NEAR(norm_of_terms(sum.op, sum.op.slots[1]).value_or(0), 15, 1e-6);
  const Measured mean("mean", {{kIn, {25, 4}, 3, 1e-9}, {kOut, {4}, 1, 1e-9}});
  EXPECT_NEAR(norm_of_terms(mean.op, mean.op.slots[1]).value_or(0), 0.6, 1e-6);
  const Measured norm("native_layer_norm",
                      {{kIn, {25, 4}, 3, 1e-9}, {kOut, {25, 4}, 1, 1e-9}, {kOut, {25, 1}, 1, 1e-9}});
  EXPECT_FALSE(norm_of_terms(norm.op, norm.op.slots[1]));
  EXPECT_NEAR(norm_of_terms(norm.op, norm.op.slots[2]).value_or(0), 1.5, 1e-6);
  const Measured window(
      "convolution",
      {{kIn, {1, 2, 9, 9}, 3, 1e-9}, {kIn, {4, 2, 3, 3}, 5, 1e-9}, {kOut, {1, 4, 7, 7}, 1, 1e-9}});
  EXPECT_NEAR(norm_of_terms(window.op, window.op.slots[2]).value_or(0), 45, 1e-6);
  const Measured other("tanh", {{kIn, {4}, 3, 1e-9}, {kOut, {4}, 1, 1e-9}});
  EXPECT_FALSE(norm_of_terms(other.op, other.op.slots[1]));
}

TEST(Conditioning, WhatIsLeftOfTermsThatCancelIsComparedWithThem) {
  const auto judge = [](double left, double distance, double input, const char* type = "sum") {
    const Measured made(type, {{kIn, {1024, 4}, 1, 1e-12}, {kOut, {4}, left, distance}});
    return is_cancellation(made.op, input);
  };
  EXPECT_TRUE(judge(1e-8, 2e-8, 0));     // nothing is left of terms of size 32
  EXPECT_FALSE(judge(1e-8, 2e-4, 0));    // more than their rounding
  EXPECT_TRUE(judge(1e-8, 2e-4, 1e-5));  // but not than the error of the input
  EXPECT_FALSE(judge(1e-8, 2e-8, 0, "tanh"));
}

TEST(Conditioning, ALayerInLowerPrecisionIsNoRounding) {
  Measured made("mm", {{kIn, {4, 8}, 3, 1e-9}, {kIn, {8, 2}, 5, 1e-9}, {kOut, {4, 2}, 1, 1e-8}});
  EXPECT_TRUE(is_cancellation(made.op, 0));
  dump::Slot lower = made.slots[2];
  lower.dtype = model::DType::bfloat16;
  made.op.slots[2].actual = &lower;
  EXPECT_FALSE(is_cancellation(made.op, 0));
  made.op.slots[2].golden = &lower;
  EXPECT_TRUE(is_cancellation(made.op, 0));
}

TEST(Conditioning, OneElementThatIsFarOffIsNoRounding) {
  Measured made("sum", {{kIn, {1024, 400}, 1, 1e-12}, {kOut, {400}, 1, 1e-5}});
  EXPECT_TRUE(is_cancellation(made.op, 0));
  made.op.slots[1].metrics->max_abs = 1e-3;
  EXPECT_FALSE(is_cancellation(made.op, 0));
}

TEST(Conditioning, TensorsAreKnownByTheirDifference) {
  const Measured a("sum", {{kIn, {4}, 1, 1e-12}, {kOut, {4}, 1, 1e-3}}), b("mul", {{kIn, {4}, 1, 1e-3}}),
      other("mul", {{kIn, {4}, 1, 2e-3}});
  CancelledTensors known;
  known.add(a.op, a.op.slots[1]);
  EXPECT_TRUE(known.contain(b.op, b.op.slots[0]));
  EXPECT_FALSE(known.contain(other.op, other.op.slots[0]));
}

TEST(Conditioning, TensorsAreKnownInAnotherOrder) {
  const Measured made("sum", {{kIn, {4}, 1, 1e-12}, {kOut, {4}, 1, 1e-3}});
  Measured read("bmm", {{kIn, {2, 2}, 1, 1e-3}});
  math::Metrics& metrics = *read.op.slots[0].metrics;
  metrics.max_abs_golden = 7, metrics.max_abs_actual = 7 + metrics.max_abs;  // of another element
  CancelledTensors known;
  known.add(made.op, made.op.slots[1]);
  EXPECT_TRUE(known.contain(read.op, read.op.slots[0]));
  metrics.actual_norm *= 1 + 1e-6;
  EXPECT_FALSE(known.contain(read.op, read.op.slots[0]));
}

TEST(Conditioning, TensorsAreKnownWhereOneRunHasRoundedThem) {
  const Measured made("mul", {{kIn, {4}, 1, 1e-12}, {kOut, {4}, 1, 0.5}});
  for (const bool is_golden : {true, false}) {
    Measured read("add", {{kIn, {4}, 1, 0.5}});
    SlotComparison& slot = read.op.slots[0];
    dump::Slot rounded = read.slots[0];
    (is_golden ? slot.golden : slot.actual) = &rounded;
    (is_golden ? slot.metrics->max_abs_golden : slot.metrics->max_abs_actual) *= 1 + 0x1p-9;
    slot.metrics->rmse *= 1 + 0x1p-9;
    CancelledTensors known;
    known.add(made.op, made.op.slots[1]);
    EXPECT_FALSE(known.contain(read.op, slot)) << "in float32";
    rounded.dtype = model::DType::bfloat16;
    EXPECT_TRUE(known.contain(read.op, slot));
    (is_golden ? slot.metrics->max_abs_golden : slot.metrics->max_abs_actual) *= 1 + 0x1p-6;
    EXPECT_FALSE(known.contain(read.op, slot)) << "another number";
  }
}

}  // namespace
}  // namespace opdump::compare
