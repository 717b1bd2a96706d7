#include "compare/pairs/results/result_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "compare/compare_fixture_test.h"
#include "compare/rules/example_program_test.h"

namespace opdump::compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Input = dump::CallWiring::Input;

const std::vector<float> kData{1, 2, 3, 4, 5, 6, 7, 9}, kScores{2, 7, 1, 8, 2, 8, 1, 9},
    kHalf{1, 3.5F, 0.5F, 4, 1, 4, 0.5F, 4.5F}, kSum{3, 9, 4, 12, 7, 14, 8, 18},
    kOther{4, 9, 4, 12, 7, 15, 8, 18}, kTwice{6, 18, 8, 24, 14, 28, 16, 36};

// An operator that reads what another one made; "" stands for data.
void add(Program& run, const std::string& name, const std::string& reads, const std::vector<float>& read,
         const std::vector<float>& made, const Said& said = {}) {
  const Input input =
      reads.empty() ? Input{.is_outside = true} : Input{.index = 0, .maker = {{.name = reads}}};
  run.logged(name, {read}, {made}, said).wired(name, {input});
}

class ResultPairsTest : public CompareTest {
 protected:
  std::optional<Pairing> pair() {
    golden_dump_.emplace(dump::DumpSet::open(golden_->root()));
    actual_dump_.emplace(dump::DumpSet::open(actual_->root()));
    return pair_results(Wiring(golden_runs()), Wiring(actual_runs()), 1);
  }
  const dump::Runs& golden_runs() const { return (*golden_dump_)->runs(); }
  const dump::Runs& actual_runs() const { return (*actual_dump_)->runs(); }
  static std::size_t count(const Pairing& pairing, Fusion fusion) {
    return static_cast<std::size_t>(std::ranges::count(pairing.pairs, fusion, &OperatorPair::fusion));
  }

  std::optional<Result<dump::DumpSet>> golden_dump_, actual_dump_;
};

TEST_F(ResultPairsTest, WhatEachRunComputesInItsOwnWayIsNotLost) {
  Program golden(*golden_), actual(*actual_);
  add(golden, "Default/mm-op0", "", kData, kScores);
  add(golden, "Default/mul-op0", "Default/mm-op0", kScores, kSum);
  add(actual, "Default/linear-op0", "", kData, kScores);
  add(actual, "Default/div-op0", "Default/linear-op0", kScores, kHalf);
  add(actual, "Default/add-op0", "Default/div-op0", kHalf, kSum);
  const auto pairing = pair();
  ASSERT_TRUE(pairing);
  EXPECT_EQ(count(*pairing, Fusion::result), 2U);
  EXPECT_EQ(count(*pairing, Fusion::inside), 1U);
  EXPECT_EQ(count(*pairing, Fusion::parting), 0U);
  EXPECT_TRUE(pairing->incomplete.empty());
}

TEST_F(ResultPairsTest, TheFirstResultThatNothingShowsIsWhereTheProgramsPart) {
  Program golden(*golden_), actual(*actual_);
  add(golden, "Default/mm-op0", "", kData, kScores);
  add(golden, "Default/mul-op0", "Default/mm-op0", kScores, kSum);
  add(golden, "Default/relu-op0", "Default/mul-op0", kSum, kTwice);
  add(actual, "Default/linear-op0", "", kData, kScores);
  add(actual, "Default/div-op0", "Default/linear-op0", kScores, kHalf);
  add(actual, "Default/add-op0", "Default/div-op0", kHalf, kOther);
  const auto pairing = pair();
  ASSERT_TRUE(pairing);
  const auto parting = std::ranges::find(pairing->pairs, Fusion::parting, &OperatorPair::fusion);
  ASSERT_NE(parting, pairing->pairs.end());
  EXPECT_EQ(golden_runs().without_slots(parting->golden).type, "mul");
  EXPECT_EQ(actual_runs().without_slots(parting->actual).type, "div");
}

// A program may print a number that the other one does not.
TEST_F(ResultPairsTest, ANumberThatOneRunMakesMoreIsNoDifference) {
  Program golden(*golden_), actual(*actual_);
  add(golden, "Default/mm-op0", "", kData, kScores);
  add(actual, "Default/linear-op0", "", kData, kScores);
  add(actual, "Default/mean-op0", "Default/linear-op0", kScores, {4.75F});
  const auto pairing = pair();
  ASSERT_TRUE(pairing);
  EXPECT_EQ(count(*pairing, Fusion::parting), 0U);
  EXPECT_TRUE(pairing->incomplete.empty());
  EXPECT_THAT(pairing->notes,
              Contains("actual alone computes 1 result that nothing reads, the first of Default/mean-op0"));
}

// Of tensors nobody can say that they do not matter.
TEST_F(ResultPairsTest, ATensorThatOneRunMakesMoreIsListed) {
  Program golden(*golden_), actual(*actual_);
  add(golden, "Default/mm-op0", "", kData, kScores);
  add(actual, "Default/linear-op0", "", kData, kScores);
  add(actual, "Default/mul-op0", "Default/linear-op0", kScores, kTwice);
  const auto pairing = pair();
  ASSERT_TRUE(pairing);
  EXPECT_EQ(count(*pairing, Fusion::parting), 0U);
  EXPECT_THAT(pairing->incomplete,
              ElementsAre("1 result of actual, the first of Default/mul-op0, is not in the other run, and "
                          "neither is what is made of it"));
}

// As a program with one matrix for queries, keys and values, and one with three.
TEST_F(ResultPairsTest, WhatOneRunHasInSeveralTensorsIsKnown) {
  const std::vector<float> merged{3, 9, 4, 12, 7, 14, 8, 18, 1, 3.5F, 0.5F, 4, 1, 4.25F, 0.5F, 4.5F},
      first(merged.begin(), merged.begin() + 8), second(merged.begin() + 8, merged.end());
  Program golden(*golden_), actual(*actual_);
  add(golden, "Default/mm-op0", "", kData, kScores);
  add(golden, "Default/addmm-op0", "Default/mm-op0", kScores, merged);
  add(actual, "Default/linear-op0", "", kData, kScores);
  add(actual, "Default/linear-op1", "Default/linear-op0", kScores, second);
  add(actual, "Default/linear-op2", "Default/linear-op0", kScores, first);
  const auto pairing = pair();
  ASSERT_TRUE(pairing);
  EXPECT_EQ(count(*pairing, Fusion::parting), 0U);
  EXPECT_TRUE(pairing->incomplete.empty());
}

// As losses of two micro-batches, and that of their batch.
TEST_F(ResultPairsTest, NumbersWhoseMeanTheOtherRunMakesAreKnown) {
  const Said loss{.source = "train.py"};
  Program golden(*golden_), actual(*actual_);
  add(golden, "Default/mm-op0", "", kData, kScores);
  add(golden, "Default/mse_loss-op0", "Default/mm-op0", kScores, {4.5F}, loss);
  add(actual, "Default/linear-op0", "", kData, kScores);
  add(actual, "Default/mean-op0", "Default/linear-op0", kHalf, {5.25F}, loss);
  add(actual, "Default/mean-op1", "Default/linear-op0", kSum, {3.75F}, loss);
  const auto pairing = pair();
  ASSERT_TRUE(pairing);
  EXPECT_THAT(pairing->incomplete, IsEmpty());
  EXPECT_THAT(pairing->notes, Not(Contains(HasSubstr("alone computes"))));
}

// As channels that are joined the other way round.
TEST_F(ResultPairsTest, AMoveThatChangesTheOrderAloneIsAPartingPoint) {
  const std::vector<float> joined{1, 2, 3, 4, 5, 6, 7, 9, 2, 7, 1, 8, 2, 8, 1, 9},
      other{2, 7, 1, 8, 2, 8, 1, 9, 1, 2, 3, 4, 5, 6, 7, 9};
  Program golden(*golden_), actual(*actual_);
  for (const auto& [run, made, mm] :
       {std::tuple(&golden, &joined, "Default/mm-op0"), std::tuple(&actual, &other, "Default/linear-op0")}) {
    add(*run, mm, "", kData, kScores);
    add(*run, "Default/cat-op0", mm, kScores, *made);
    add(*run, "Default/addmm-op0", "Default/cat-op0", *made, run == &golden ? kSum : kOther);
  }
  const auto pairing = pair();
  ASSERT_TRUE(pairing);
  const auto parting = std::ranges::find(pairing->pairs, Fusion::parting, &OperatorPair::fusion);
  ASSERT_NE(parting, pairing->pairs.end());
  EXPECT_EQ(golden_runs().without_slots(parting->golden).type, "cat");
}

// What is subtracted of the sum is less than rounding of it.
TEST_F(ResultPairsTest, WhatMakesLessThanRoundingIsNotLost) {
  std::vector<float> tiny(kScores.size());
  std::ranges::transform(kScores, tiny.begin(), [](float x) { return 1e-9F * x; });
  Program golden(*golden_), actual(*actual_);
  add(golden, "Default/mm-op0", "", kData, kSum);
  add(actual, "Default/linear-op0", "", kData, kSum);
  add(actual, "Default/neg-op0", "", kScores, tiny);
  const auto reads = [](std::uint32_t index, const std::string& name) {
    return Input{.index = index, .maker = {{.name = name}}};
  };
  actual.logged("Default/add-op0", {kSum, tiny}, {kSum})
      .wired("Default/add-op0", {reads(0, "Default/linear-op0"), reads(1, "Default/neg-op0")});
  const auto pairing = pair();
  ASSERT_TRUE(pairing);
  EXPECT_TRUE(pairing->incomplete.empty());
}

TEST_F(ResultPairsTest, NothingIsPairedWithoutACommonResult) {
  Program golden(*golden_), actual(*actual_);
  add(golden, "Default/mm-op0", "", kData, kScores);
  add(actual, "Default/linear-op0", "", kData, kSum);
  EXPECT_FALSE(pair());
}

}  // namespace
}  // namespace opdump::compare
