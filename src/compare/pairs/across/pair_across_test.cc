#include "compare/pairs/across/pair_across.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "dump/read/summary_test.h"
#include "dump/temp_directory_test.h"

namespace opdump::compare {
namespace {

namespace fs = std::filesystem;
using dump::OperatorRun;
using dump::Slot;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<float>;

// A run of one step: float32 vectors in files, and operators with their full names.
class Recording {
 public:
  explicit Recording(fs::path directory) : directory_(std::move(directory)) {
    fs::create_directories(directory_);
  }

  Recording& op(const std::string& name, const std::string& type, const std::vector<Values>& inputs,
                const Values& output, model::Phase phase = model::Phase::forward) {
    OperatorRun run;
    run.name = name;
    run.type = type;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      run.slots.push_back(write(model::Side::input, static_cast<std::uint32_t>(i), inputs[i]));
    run.slots.push_back(write(model::Side::output, 0, output));
    dump::add_run(runs_, section_, run, directory_.string());
    model::Operator op;
    op.name = name;
    op.type = type;
    op.phase = phase;
    runs_.set_operator(runs_.size() - 1, runs_.add_operator(op));
    return *this;
  }

  const dump::Runs& runs() {
    runs_.sort();
    return runs_;
  }

 private:
  Slot write(model::Side side, std::uint32_t index, const Values& values) {
    const std::string name = std::to_string(++files_) + ".npy";
    std::string header =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }";
    header.append(63 - (10 + header.size()) % 64, ' ').append("\n");
    std::string text("\x93NUMPY\x01\x00", 8);
    text.push_back(static_cast<char>(header.size() & 0xff));
    text.push_back(static_cast<char>(header.size() >> 8));
    std::string data(values.size() * 4, '\0');
    std::memcpy(data.data(), values.data(), data.size());
    std::ofstream(directory_ / name, std::ios::binary) << text << header << data;
    Slot slot;
    slot.side = side;
    slot.index = index;
    slot.dtype = model::DType::float32;
    slot.shape = model::Shape{static_cast<std::int64_t>(values.size())};
    slot.file = (directory_ / name).string();
    slot.file_bytes = text.size() + header.size() + data.size();
    slot.timestamp_us = static_cast<std::uint64_t>(files_);
    return slot;
  }

  fs::path directory_;
  int files_ = 0;
  dump::Runs runs_;
  std::uint32_t section_ = runs_.add_section({});
};

// Numbers that no other seed gives.
Values values(int seed, std::size_t count = 8) {
  Values list;
  for (std::size_t i = 0; i < count; ++i)
    list.push_back(static_cast<float>((seed * 7919 + static_cast<int>(i) * 104729) % 1000) / 100.0F);
  return list;
}

class CrossFramework : public ::testing::Test {
 protected:
  // "a=b method" of pairs, in golden's order.
  std::vector<std::string> pair(const PairingMap& map = {}) {
    const auto pairing = pair_across(golden_.runs(), actual_.runs(), {}, map, 1);
    if (!pairing) return {pairing.error().message()};
    notes_ = pairing->notes;
    std::vector<std::string> lines;
    for (const OperatorPair& pair : pairing->pairs) {
      if (pair.golden == OperatorPair::kNone || pair.actual == OperatorPair::kNone) continue;
      lines.push_back(golden_.runs().without_slots(pair.golden).name + "=" +
                      actual_.runs().without_slots(pair.actual).name + " " +
                      std::string(kPairedByNames[static_cast<std::size_t>(pair.paired_by)]));
    }
    return lines;
  }

  dump::TempDirectory directory_;
  Recording golden_{directory_.path() / "golden"}, actual_{directory_.path() / "actual"};
  std::vector<std::string> notes_;
};

TEST_F(CrossFramework, EqualValuesWhateverTheNameAndTheOrderOfElements) {
  golden_.op("Default/a-A/mul-op0", "mul", {values(1)}, values(2))
      .op("Default/b-B/erf-op0", "erf", {values(2)}, values(3));
  Values turned = values(3);
  std::swap(turned[0], turned[5]);
  actual_.op("/x/Erf", "Erf", {values(2)}, turned).op("/y/Div", "Div", {values(1)}, values(2));
  EXPECT_THAT(pair(), ElementsAre("Default/a-A/mul-op0=/y/Div values", "Default/b-B/erf-op0=/x/Erf values"));
}

TEST_F(CrossFramework, AnActivationThatAddsTheBiasIsOneWithItsProduct) {
  golden_.op("Default/addmm-op0", "addmm", {values(9), values(1), values(90, 64)}, values(2))
      .op("Default/gelu-op0", "gelu", {values(2)}, values(3));
  actual_.op("/f/MatMul", "MatMul", {values(1), values(90, 64)}, values(12))
      .op("BiasGelu", "BiasGelu", {values(12), values(9, 4)}, values(3));
  EXPECT_THAT(pair(), ElementsAre("Default/gelu-op0=BiasGelu values"));
}

TEST_F(CrossFramework, WeightsWhereValuesDiffer) {
  golden_.op("Default/addmm-op0", "addmm", {values(1), values(90, 64)}, values(2))
      .op("Default/addmm-op1", "addmm", {values(2), values(91, 64)}, values(3));
  actual_.op("node_1", "Gemm", {values(11), values(91, 64)}, values(12))
      .op("node_2", "Gemm", {values(12), values(90, 64)}, values(13));
  EXPECT_THAT(pair(), ElementsAre("Default/addmm-op0=node_2 weights", "Default/addmm-op1=node_1 weights"));
}

TEST_F(CrossFramework, WhatReadsPairedOperators) {
  golden_.op("Default/mm-op0", "mm", {values(1), values(90, 64)}, values(2))
      .op("Default/tanh-op0", "tanh", {values(2)}, values(3))
      .op("Default/view-op0", "view", {values(3)}, values(3))
      .op("Default/relu-op0", "relu", {values(3)}, values(4));
  actual_.op("node_1", "MatMul", {values(11), values(90, 64)}, values(12))
      .op("node_2", "Tanh", {values(12)}, values(13))
      .op("node_3", "Relu", {values(13)}, values(14));
  EXPECT_THAT(pair(), ElementsAre("Default/mm-op0=node_1 weights", "Default/tanh-op0=node_2 data flow",
                                  "Default/relu-op0=node_3 data flow"));
}

// Another pooling: what reads it differs.
TEST_F(CrossFramework, AnotherKindInThePlaceOfOne) {
  golden_.op("exp", "exp", {values(1)}, values(2))
      .op("avg_pool2d", "avg_pool2d", {values(2)}, values(3))
      .op("mm", "mm", {values(3), values(90, 64)}, values(4));
  actual_.op("Exp", "Exp", {values(1)}, values(2))
      .op("MaxPool", "MaxPool", {values(2)}, values(13))
      .op("MatMul", "MatMul", {values(13), values(90, 64)}, values(14));
  EXPECT_THAT(pair(), ElementsAre("exp=Exp values", "avg_pool2d=MaxPool data flow", "mm=MatMul weights"));
}

// Two ways to one result.
TEST_F(CrossFramework, OtherKindsBeforeAResultThatIsEqualAreNoPair) {
  golden_.op("exp", "exp", {values(1)}, values(2))
      .op("neg", "neg", {values(2)}, values(3))
      .op("mm", "mm", {values(3), values(90, 64)}, values(4));
  actual_.op("Exp", "Exp", {values(1)}, values(2))
      .op("Log", "Log", {values(2)}, values(13))
      .op("MatMul", "MatMul", {values(13), values(90, 64)}, values(4));
  EXPECT_THAT(pair(), ElementsAre("exp=Exp values", "mm=MatMul values"));
}

// One framework computes the product when it compiles the graph.
TEST_F(CrossFramework, AConstantIsReadByTheSameOperator) {
  golden_.op("exp", "exp", {values(1)}, values(2))
      .op("mul", "mul", {values(3)}, values(4))
      .op("add", "add", {values(2), values(4)}, values(5));
  actual_.op("Exp", "Exp", {values(1)}, values(2)).op("Add", "Add", {values(2), values(14)}, values(15));
  EXPECT_THAT(pair(), ElementsAre("exp=Exp values", "add=Add data flow"));
}

// The weight is dumped as it was before the update in one run, and as it is afterwards in the other one.
TEST_F(CrossFramework, WhatUpdatesAWeightWithOneGradient) {
  constexpr auto kOptimizer = model::Phase::optimizer;
  golden_.op("neg", "neg", {values(1)}, values(9))
      .op("buffer", "add_", {values(7), values(9)}, values(8), kOptimizer)
      .op("add_", "add_", {values(90), values(8)}, values(10), kOptimizer);
  actual_.op("Neg", "Neg", {values(1)}, values(9))
      .op("ApplyMomentum", "ApplyMomentum", {values(11), values(7), {1}, values(9)}, values(11), kOptimizer);
  EXPECT_THAT(pair(), ElementsAre("neg=Neg values", "add_=ApplyMomentum data flow"));
}

// Gradients of a factor and of an offset are results of one operator.
TEST_F(CrossFramework, WhichUpdateReadsWhichResult) {
  constexpr auto kOptimizer = model::Phase::optimizer;
  for (Recording* run : {&golden_, &actual_})
    run->op("neg", "neg", {values(1)}, values(9)).op("t", "transpose", {values(9)}, values(19));
  golden_.op("a", "add_", {values(90), values(9)}, values(10), kOptimizer)
      .op("b", "add_", {values(91), values(19)}, values(20), kOptimizer);
  actual_.op("B", "SGD", {values(92), values(19)}, values(21), kOptimizer);
  EXPECT_THAT(pair(), ElementsAre("neg=neg values", "b=B data flow"));
}

// "network-Loss" has the network in "net-Net", and the optimizer is beside it.
TEST_F(CrossFramework, ScopesAroundANetworkDoNotCount) {
  golden_.op("Default/up-Linear/addmm-op0", "addmm", {values(1)}, values(2))
      .op("Default/act-GELU/gelu-op0", "gelu", {values(5)}, values(3))
      .op("Default/optimizer-SGD/add-op0", "add", {values(6)}, values(4))
      .op("Gradients/Default/up-Linear/mm-op0", "mm", {values(7)}, values(18));
  actual_.op("Default/network-Loss/net-Net/act-GELU/GeLU-op0", "GeLU", {values(15)}, values(13))
      .op("Default/network-Loss/net-Net/up-Dense/MatMul-op0", "MatMul", {values(11)}, values(12))
      .op("Default/optimizer-SGD/Add-op0", "Add", {values(16)}, values(14))
      .op("Gradients/Default/network-Loss/net-Net/up-Dense/MatMul-op0", "MatMul", {values(17)}, values(28));
  EXPECT_THAT(pair(),
              ElementsAre("Default/up-Linear/addmm-op0=Default/network-Loss/net-Net/up-Dense/MatMul-op0 path",
                          "Default/act-GELU/gelu-op0=Default/network-Loss/net-Net/act-GELU/GeLU-op0 path",
                          "Default/optimizer-SGD/add-op0=Default/optimizer-SGD/Add-op0 path",
                          "Gradients/Default/up-Linear/mm-op0=Gradients/Default/network-Loss/net-Net/"
                          "up-Dense/MatMul-op0 path"));
}

TEST_F(CrossFramework, ModulesOfOnePath) {
  golden_.op("Default/net-Net/up-Linear/addmm-op0", "addmm", {values(1)}, values(2))
      .op("Default/net-Net/act-GELU/gelu-op0", "gelu", {values(5)}, values(3));
  actual_.op("/act/Gelu", "Gelu", {values(15)}, values(13)).op("/up/Gemm", "Gemm", {values(11)}, values(12));
  EXPECT_THAT(pair(), ElementsAre("Default/net-Net/up-Linear/addmm-op0=/up/Gemm path",
                                  "Default/net-Net/act-GELU/gelu-op0=/act/Gelu path"));
}

TEST_F(CrossFramework, AFoldedNormStandsForItsConvolution) {
  golden_.op("Default/c-Conv2d/convolution-op0", "convolution", {values(1), values(90, 64)}, values(2))
      .op("Default/n-BatchNorm2d/native_batch_norm-op0", "native_batch_norm", {values(2)}, values(3));
  actual_.op("/c/Conv", "Conv", {values(11), values(95, 64)}, values(12));
  EXPECT_THAT(pair(), ElementsAre("Default/n-BatchNorm2d/native_batch_norm-op0=/c/Conv path"));
}

TEST_F(CrossFramework, ABiasIsPartOfAProduct) {
  golden_.op("Default/l-Linear/addmm-op0", "addmm", {values(80), values(1), values(90, 64)}, values(2));
  actual_.op("/l/MatMul", "MatMul", {values(11), values(90, 64)}, values(12))
      .op("/l/Add", "Add", {values(80, 4), values(12)}, values(13));
  EXPECT_THAT(pair(), ElementsAre("Default/l-Linear/addmm-op0=/l/Add weights"));
}

// One framework adds gradients two by two, another one all at once.
TEST_F(CrossFramework, AChainOfSumsIsASumOfAll) {
  golden_.op("Default/exp-op0", "exp", {values(1)}, values(11))
      .op("Default/neg-op0", "neg", {values(2)}, values(12))
      .op("Default/log-op0", "log", {values(3)}, values(13))
      .op("Default/add-op0", "add", {values(11), values(12)}, values(20))
      .op("Default/add-op1", "add", {values(20), values(13)}, values(21));
  actual_.op("Exp", "Exp", {values(101)}, values(111))
      .op("Neg", "Neg", {values(102)}, values(112))
      .op("Log", "Log", {values(103)}, values(113))
      .op("AddN", "AddN", {values(113), values(112), values(111)}, values(121));
  // The values differ: these are paired by what they read.
  const PairingMap map{{"Default/exp-op0", "Exp"}, {"Default/neg-op0", "Neg"}, {"Default/log-op0", "Log"}};
  EXPECT_THAT(pair(map), ::testing::Contains("Default/add-op1=AddN data flow"));
}

// Both have the chain, and something else adds three.
TEST_F(CrossFramework, ChainsOfSumsOnBothSidesAreComparedSumBySum) {
  for (Recording* run : {&golden_, &actual_})
    run->op("a", "add", {values(1), values(2)}, values(20))
        .op("b", "add", {values(20), values(3)}, values(21))
        .op("n", "AddN", {values(4), values(5), values(6)}, values(7));
  EXPECT_THAT(pair(), ElementsAre("a=a values", "b=b values", "n=n values"));
}

TEST_F(CrossFramework, BetweenPairsInOrderIsUncertain) {
  golden_.op("Default/exp-op0", "exp", {values(1)}, values(2))
      .op("Default/neg-op0", "neg", {values(30)}, values(31))
      .op("Default/log-op0", "log", {values(3)}, values(4));
  actual_.op("node_1", "Exp", {values(1)}, values(2))
      .op("node_2", "Neg", {values(40)}, values(41))
      .op("node_3", "Log", {values(3)}, values(4));
  EXPECT_THAT(pair(), ElementsAre("Default/exp-op0=node_1 values", "Default/neg-op0=node_2 order",
                                  "Default/log-op0=node_3 values"));
  EXPECT_THAT(notes_, ::testing::Contains(HasSubstr("1 pair is uncertain: Default/neg-op0 = node_2")));
}

TEST_F(CrossFramework, TheMapDecides) {
  golden_.op("Default/exp-op0", "exp", {values(1)}, values(2))
      .op("Default/exp-op1", "exp", {values(2)}, values(3));
  actual_.op("node_1", "Exp", {values(1)}, values(2)).op("node_2", "Exp", {values(2)}, values(3));
  EXPECT_THAT(pair({{"Default/exp-op0", "node_2"}, {"", "node_1"}}),
              ElementsAre("Default/exp-op0=node_2 map"));
  EXPECT_THAT(pair({{"Default/exp-op7", "node_2"}}), ElementsAre(HasSubstr("\"Default/exp-op7\"")));
}

// A bias is added apart in one framework; the state that both multiply has as many elements.
TEST_F(CrossFramework, AnInputIsNotPairedWithWhatAnotherOneEquals) {
  golden_.op("a", "addmm", {values(5), values(1), values(90, 64)}, values(3));
  actual_.op("b", "MatMul", {values(1), values(90, 64)}, values(3));
  const OperatorRun golden = golden_.runs()[0], actual = actual_.runs()[0];
  const std::vector<SlotPair> pairs = pair_slots_across(golden, actual, false);
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs[0].actual, nullptr);
  EXPECT_EQ(pairs[1].actual->index, 0u);
  EXPECT_EQ(pairs[2].actual->index, 1u);
}

TEST_F(CrossFramework, InputsByWhatIsInThem) {
  golden_.op("a", "sub", {values(1), values(2)}, values(3));
  actual_.op("b", "Sub", {values(2), values(1)}, values(3));
  const OperatorRun golden = golden_.runs()[0], actual = actual_.runs()[0];
  const std::vector<SlotPair> pairs = pair_slots_across(golden, actual, false);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].actual->index, 1u);
  EXPECT_EQ(pairs[1].actual->index, 0u);
  EXPECT_EQ(pairs[2].actual->side, model::Side::output);
}

// The running statistics, 50 and 60, differ. In training the result does not depend on them.
TEST_F(CrossFramework, StatisticsOfANormalisation) {
  golden_.op("a", "BatchNorm", {values(1), values(2), values(3), values(50)}, values(7))
      .op("c", "BatchNorm", {values(1), values(2), values(3), values(50)}, values(7));
  actual_.op("b", "native_batch_norm", {values(1), values(2), values(3), values(60)}, values(7))
      .op("d", "native_batch_norm", {values(1), values(2), values(3), values(60)}, values(8));
  const auto count_pairs = [&](std::size_t run) {
    return std::ranges::count_if(pair_slots_across(golden_.runs()[run], actual_.runs()[run], false),
                                 [](const SlotPair& pair) { return pair.golden && pair.actual; });
  };
  EXPECT_EQ(count_pairs(0), 4);
  EXPECT_EQ(count_pairs(1), 5);
}

// A variance, and 1/sqrt(variance + epsilon).
TEST_F(CrossFramework, StatisticsOfALayerNormalisationAreNoResults) {
  const auto make = [](const std::string& type, std::uint32_t statistic) {
    OperatorRun run;
    run.type = type;
    for (const std::uint32_t index : {0u, statistic}) {
      dump::Slot& slot = run.slots.emplace_back();
      slot.side = model::Side::output;
      slot.index = index;
      slot.shape = model::Shape{index + 2};
    }
    return run;
  };
  EXPECT_EQ(pair_slots_across(make("native_layer_norm", 2), make("LayerNorm", 2), false).size(), 3u);
  EXPECT_EQ(pair_slots_across(make("native_layer_norm", 2), make("native_layer_norm", 2), false).size(), 2u);
}

TEST(ParsePairingMap, LinesCommentsAndNone) {
  const auto map = parse_pairing_map("# ours theirs\n\n a  b \r\nc\t-\n- d");
  ASSERT_TRUE(map);
  EXPECT_THAT(*map, ElementsAre(std::pair("a", "b"), std::pair("c", ""), std::pair("", "d")));
}

TEST(ParsePairingMap, WrongLines) {
  for (const char* text : {"a", "a b c", "- -", "a b\nc"}) {
    const auto map = parse_pairing_map(text);
    ASSERT_FALSE(map) << text;
    EXPECT_THAT(map.error().message(), HasSubstr("line ")) << text;
  }
}

// An export composes gelu of operators, one of which adds a number.
TEST_F(CrossFramework, ASumHasAsManyTermsInBoth) {
  golden_.op("Default/a-A/mul-op0", "mul", {values(1)}, values(2))
      .op("Default/gelu-op0", "gelu", {values(2)}, values(3))
      .op("Default/add-op0", "add", {values(2), values(3)}, values(4));
  actual_.op("/a/Mul", "Mul", {values(1)}, values(2))
      .op("/Erf", "Erf", {values(2)}, values(5))
      .op("/Add", "Add", {values(5), {1}}, values(6))
      .op("/Mul", "Mul", {values(2), values(6)}, values(7))
      .op("/Add_1", "Add", {values(2), values(7)}, values(8));
  EXPECT_THAT(pair(), ElementsAre("Default/a-A/mul-op0=/a/Mul values", "Default/add-op0=/Add_1 path"));
}

}  // namespace
}  // namespace opdump::compare
