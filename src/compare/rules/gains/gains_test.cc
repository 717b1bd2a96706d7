#include "compare/rules/gains/gains.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace opdump::compare {
namespace {

// Operators of both runs, with slots that have distances only.
class GainsTest : public testing::Test {
 protected:
  OperatorComparison make(std::string type, std::uint32_t rank = 0) {
    dump::OperatorRun run;
    run.type = std::move(type);
    run.rank = rank;
    OperatorComparison op;
    op.golden = op.actual = std::make_shared<dump::OperatorRun>(run);
    return op;
  }
  SlotComparison& add(OperatorComparison& op, model::Side side, model::DType actual) {
    for (const auto& [list, dtype] :
         {std::pair(&golden_, model::DType::float32), std::pair(&actual_, actual)}) {
      dump::Slot& slot = list->emplace_back();
      slot.side = side;
      slot.dtype = dtype;
    }
    SlotComparison& slot = op.slots.emplace_back();
    slot.golden = &golden_.back();
    slot.actual = &actual_.back();
    slot.dtype = model::DType::float32;
    return slot;
  }
  // A tensor of root mean square 2, off by `relative`, all elements alike.
  void add_tensor(OperatorComparison& op, double relative, model::Side side = model::Side::output,
                  model::DType actual = model::DType::float32) {
    math::Metrics metrics;
    metrics.relative_l2 = relative;
    metrics.rmse = metrics.max_abs = 2 * relative;
    metrics.count = 64;
    add(op, side, actual).metrics = metrics;
  }
  void add_statistics(OperatorComparison& op, model::Side side, const dump::SlotStatistics::Columns& golden,
                      const dump::SlotStatistics::Columns& actual) {
    add(op, side, model::DType::float32).from_statistics = true;
    golden_.back().statistics = golden;
    actual_.back().statistics = actual;
  }
  std::vector<Gain> measure_tensor(std::string type, double relative, std::uint32_t rank = 0) {
    OperatorComparison op = make(std::move(type), rank);
    add_tensor(op, relative);
    return meter_.measure(op);
  }

  std::deque<dump::Slot> golden_, actual_;
  GainMeter meter_;
};

TEST_F(GainsTest, OutputsAreMeasuredByThoseJustBefore) {
  EXPECT_DOUBLE_EQ(measure_tensor("mm", 0x1p-20).at(0).whole, 16);  // against the roundoff
  const Gain gain = measure_tensor("relu", 0x1p-10).at(0);
  EXPECT_EQ(gain.of, GainOf::outputs);
  EXPECT_EQ(gain.slot, "output.0");
  EXPECT_EQ(gain.dtype, model::DType::float32);
  EXPECT_DOUBLE_EQ(gain.whole, 1024);
  EXPECT_DOUBLE_EQ(gain.peak, 1024);
  for (int i = 0; i < 15; ++i) measure_tensor("relu", 0);
  EXPECT_DOUBLE_EQ(measure_tensor("mul", 0x1p-10).at(0).whole, 1);
  for (int i = 0; i < 16; ++i) measure_tensor("relu", 0x1p-22);
  EXPECT_DOUBLE_EQ(measure_tensor("mul", 0x1p-10).at(0).whole, 4096);
  EXPECT_DOUBLE_EQ(measure_tensor("mul", 0x1p-10, 1).at(0).whole, 16384) << "another rank";
}

TEST_F(GainsTest, AnOptimizerReadsItsStateAndALayerItsWeights) {
  dump::LoggedOperator forward, optimizer;
  optimizer.phase = model::Phase::optimizer;
  const auto measure_in = [&](std::int64_t step, const char* type, double relative, const auto& logged) {
    dump::OperatorRun run;
    run.step = step;
    run.type = run.name = type;
    run.op = std::make_shared<dump::LoggedOperator>(logged);
    OperatorComparison op;
    op.golden = op.actual = std::make_shared<dump::OperatorRun>(run);
    add_tensor(op, relative);
    return meter_.measure(op).at(0).whole;
  };
  const auto wait = [&](std::int64_t step) {
    for (int i = 0; i < 16; ++i) measure_in(step, "relu", 0, forward);
  };
  measure_in(0, "mm", 0x1p-20, forward);
  measure_in(0, "add_", 0x1p-14, optimizer);
  wait(0);
  EXPECT_DOUBLE_EQ(measure_in(1, "mm", 0x1p-10, forward), 16) << "against the weights of the step before";
  wait(1);
  EXPECT_DOUBLE_EQ(measure_in(1, "mul_", 0x1p-10, optimizer), 16) << "against its state of the step before";
}

TEST_F(GainsTest, EachOutputHasAGain) {
  OperatorComparison op = make("native_batch_norm");
  for (const double relative : {0x1p-20, 0x1p-19}) add_tensor(op, relative);
  actual_[1].index = golden_[1].index = 1;
  const std::vector<Gain> gains = meter_.measure(op);
  ASSERT_EQ(gains.size(), 2u);
  EXPECT_DOUBLE_EQ(gains[1].whole, 32);
  EXPECT_EQ(gains[1].slot, "output.1");
  EXPECT_EQ(gains[1].output, 1u);
  GainTable table;
  table.add("native_batch_norm", gains[1]);
  EXPECT_NE(table.to_json().find("\"batchnorm.1\""), std::string::npos);
  op.golden = op.actual = make("_foreach_add_").golden;
  EXPECT_EQ(meter_.measure(op).at(1).output, 0u) << "one of a list";
}

TEST_F(GainsTest, TheCoarserTypeIsTheMeasure) {
  OperatorComparison op = make("mm");
  add_tensor(op, 0x1p-6, model::Side::output, model::DType::bfloat16);
  const Gain gain = meter_.measure(op).at(0);
  EXPECT_EQ(gain.dtype, model::DType::bfloat16);
  EXPECT_DOUBLE_EQ(gain.whole, 4);
}

TEST_F(GainsTest, StatisticsOfOutputsAgainstThoseOfInputs) {
  OperatorComparison op = make("mm");
  add_statistics(op, model::Side::input, {{"Max Value", "2"}, {"Min Value", "-1"}, {"L2Norm Value", "10"}},
                 {{"Max Value", "2.002"}, {"Min Value", "-1"}, {"L2Norm Value", "10"}});
  add_statistics(op, model::Side::output, {{"Max Value", "2"}, {"Min Value", "-4"}, {"L2Norm Value", "10"}},
                 {{"Max Value", "2"}, {"Min Value", "-4"}, {"L2Norm Value", "11"}});
  const std::vector<Gain> gains = meter_.measure(op);
  ASSERT_EQ(gains.size(), 2u);
  EXPECT_EQ(gains[0].of, GainOf::data);
  EXPECT_EQ(gains[0].slot, "input.0");
  EXPECT_NEAR(gains[0].peak, 0.002 / 2.002 / 5e-6, 1e-6) << "six digits are printed";
  EXPECT_EQ(gains[1].of, GainOf::statistics);
  EXPECT_NEAR(gains[1].whole, 1.0 / 11 / (0.002 / 2.002), 1e-6);
  EXPECT_NEAR(gains[1].peak, 1.0 / 11 / (0.002 / 2.002), 1e-6);
  OperatorComparison next = make("mm");
  add_statistics(next, model::Side::input, {{"L2Norm Value", "10"}}, {{"L2Norm Value", "11"}});
  EXPECT_NEAR(meter_.measure(next).at(0).whole, 1, 1e-9) << "it was made before";
  OperatorComparison single = make("mul");
  single.golden = nullptr;
  add_statistics(single, model::Side::output, {}, {{"L2Norm Value", "15"}});
  meter_.measure(single);
  OperatorComparison reader = make("mm");
  add_statistics(reader, model::Side::input, {{"L2Norm Value", "10"}}, {{"L2Norm Value", "15"}});
  EXPECT_GT(meter_.measure(reader).at(0).whole, 3) << "only one run made it";
}

TEST_F(GainsTest, WhatRoundingLeavesOfASumIsNoMeasure) {
  measure_tensor("native_batch_norm_backward", 0x1p-20);
  const auto measure_sum = [&](double mean) {
    OperatorComparison op = make("sum");
    add_tensor(op, 1);
    op.slots[0].metrics->rmse = mean;
    return meter_.measure(op).size();
  };
  EXPECT_EQ(measure_sum(1e-7), 0u);
  EXPECT_EQ(measure_sum(1e-3), 1u);
}

TEST_F(GainsTest, TensorsThatDoNotDifferHaveASize) {
  const std::string path = testing::TempDir() + "gains_terms.npy";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096,), }";
  header.resize(117, ' ');
  const std::vector<float> terms(4096, 1);
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n';
  file.write(reinterpret_cast<const char*>(terms.data()), 4 * 4096);
  file.close();
  for (const bool has_file : {false, true}) {
    dump::OperatorRun run;
    run.type = "native_batch_norm_backward";
    run.rank = has_file;
    dump::Slot& slot = run.slots.emplace_back();
    slot.side = model::Side::output;
    slot.dtype = model::DType::float32;
    slot.shape = model::Shape{4096};
    if (has_file) slot.file = path;
    OperatorComparison same;
    same.golden = same.actual = std::make_shared<dump::OperatorRun>(run);
    add_tensor(same, 0);
    EXPECT_EQ(meter_.measure(same).at(0).whole, 0);
    OperatorComparison sum = make("sum", has_file);
    add_tensor(sum, 1);
    sum.slots[0].metrics->rmse = 1e-6;  // of 64 numbers, each the sum of 64 terms
    EXPECT_EQ(meter_.measure(sum).size(), has_file ? 0u : 1u);
  }
  std::filesystem::remove(path);
}

TEST_F(GainsTest, WhatIsNoMeasure) {
  OperatorComparison op = make("mm");
  op.actual = nullptr;
  EXPECT_TRUE(meter_.measure(op).empty());
  EXPECT_TRUE(meter_.measure(make("mm")).empty());
  OperatorComparison zero = make("mm");
  add_tensor(zero, std::numeric_limits<double>::infinity());  // golden is zero
  EXPECT_DOUBLE_EQ(meter_.measure(zero).at(0).whole, 0x1p24);
  OperatorComparison nan = make("mm");
  add_tensor(nan, 1);
  nan.slots[0].metrics->nan_mismatch_count = 1;
  EXPECT_TRUE(std::isinf(meter_.measure(nan).at(0).whole));
  OperatorComparison counted = make("mm");
  add_statistics(counted, model::Side::output, {{"L2Norm Value", "10"}, {"NaN Count", "0"}},
                 {{"L2Norm Value", "10"}, {"NaN Count", "1"}});
  EXPECT_TRUE(std::isinf(meter_.measure(counted).at(0).whole));
}

Gain outputs(double whole, double peak = 1) {
  return {GainOf::outputs, model::DType::float32, 0, whole, peak, "output.0"};
}

TEST(GainTable, TheLimitIsThreeTimesThe999thOfAThousand) {
  GainTable table;
  EXPECT_EQ(table.excess("mm", outputs(1e9)), 0) << "nothing is known";
  for (int i = 0; i < 1000; ++i) table.add("mm", outputs(10));
  table.add("mm", outputs(500));
  EXPECT_NEAR(table.excess("mm", outputs(30)), 1, 1e-9) << "the largest of 1,001 is above the percentile";
  EXPECT_NEAR(table.excess("mm", outputs(1, 30)), 10, 1e-9) << "no peak was above 1";
}

TEST(GainTable, FewRunsOfAKindSayLittle) {
  GainTable table;
  for (int i = 0; i < 300; ++i) table.add("mm", outputs(100));
  table.add("relu", outputs(2));
  EXPECT_NEAR(table.excess("relu", outputs(64)), 1, 1e-9);
  EXPECT_NEAR(table.excess("nobody_knows_it", outputs(64)), 1, 1e-9);
  Gain other = outputs(300);
  other.dtype = model::DType::float8_e4m3;
  EXPECT_NEAR(table.excess("mm", other), 1, 1e-9) << "as float32";
}

TEST(GainTable, FilesKeepTheLargest) {
  GainTable table;
  for (int i = 1; i <= 20; ++i) table.add("mm", outputs(i));
  table.add("mm", outputs(std::numeric_limits<double>::infinity()));
  table.add("mm", outputs(0, 0));
  const std::string json = table.to_json();
  EXPECT_EQ(json,
            R"({"outputs":{"float32":{"linear":{"runs":20,"whole":[20.0,19.0,18.0,17.0,16.0,15.0,14.0,13.0],)"
            R"("peak":[1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]}}}})");
  const auto read = GainTable::parse(json);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_json(), json);
  EXPECT_TRUE(GainTable::parse("{}"));
}

TEST(GainTable, OtherFormsAreRefused) {
  for (const char* text : {"", "[]", R"({"outputs":1})", R"({"outputs":{"float32":[]}})",
                           R"({"outputs":{"float32":{"mm":{"runs":-1,"whole":[],"peak":[]}}}})",
                           R"({"outputs":{"float32":{"mm":{"runs":1,"whole":["x"],"peak":[]}}}})",
                           R"({"outputs":{"float32":{"mm":{"runs":1,"whole":[1]}}}})"})
    EXPECT_FALSE(GainTable::parse(text)) << text;
  const auto empty = GainTable::parse(R"({"outputs":{"float32":{"mm":{"runs":0,"whole":[],"peak":[]}}}})");
  ASSERT_TRUE(empty);
  EXPECT_NEAR(empty->excess("mm", outputs(3)), 1, 1e-9);
}

}  // namespace
}  // namespace opdump::compare
