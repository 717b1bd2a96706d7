#include "msaccucmp/judge/algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace opdump::msaccucmp {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

CustomAlgorithm answering(std::string value) {
  return [value](const TensorData&, const TensorData&, const PairFacts&,
                 const std::map<std::string, std::string>& options) -> Outcome<AlgorithmAnswer> {
    if (options.contains("fail")) return Failure{Status::unknown, options.at("fail")};
    return AlgorithmAnswer{value, ""};
  };
}

TensorData data_of(const std::vector<float>& values) {
  return {model::DType::float32,
          {static_cast<std::int64_t>(values.size())},
          reinterpret_cast<const std::byte*>(values.data()),
          nullptr};
}

TEST(Algorithms, AreChosenByNumberAndName) {
  Log log;
  const auto set = AlgorithmSet::select({"0, MaxAbsoluteError,Mine", "", {{"Mine", answering("1")}}}, log);
  ASSERT_TRUE(set);
  EXPECT_THAT(set->names(), ElementsAre("CosineSimilarity", "MaxAbsoluteError", "Mine"));
  EXPECT_THAT(set->failed_values(), ElementsAre("NaN", "NaN", "NaN"));
}

TEST(Algorithms, AllAreTheBuiltInOnes) {
  Log log;
  const auto set = AlgorithmSet::select({}, log);
  ASSERT_TRUE(set);
  EXPECT_THAT(set->names(), SizeIs(kAccuracyCount));
}

TEST(Algorithms, ThatDoNotExistAreAFailure) {
  Log log;
  const auto set = AlgorithmSet::select({"99,None", "", {}}, log);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().status, Status::algorithm);
  EXPECT_FALSE(log.empty());
}

TEST(Algorithms, MeasureInOrder) {
  Log log;
  const auto set = AlgorithmSet::select({"Mine,1", "Mine:fail=why", {{"Mine", answering("1")}}}, log);
  ASSERT_TRUE(set);
  const std::vector<float> mine = {1, 2, 4}, golden = {1, 2, 3};
  const auto results = set->measure(data_of(mine), data_of(golden), {"m", "g", false}, 0, 1, log);
  ASSERT_TRUE(results);
  EXPECT_THAT(results->values, ElementsAre("NaN", "1.000000"));
  EXPECT_THAT(results->messages, ElementsAre("Failed to execute 'compare' in 'Mine'. why"));
  EXPECT_EQ(log.lines().back().text, "Failed to execute 'compare' in 'Mine'. why");
  const auto first = set->measure(data_of(mine), data_of(golden), {"m", "g", false}, 2, 1, log);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->values[1], "0.000000");
}

TEST(Algorithms, NeedAsManyElements) {
  Log log;
  const auto set = AlgorithmSet::select({}, log);
  const std::vector<float> mine = {1, 2}, golden = {1};
  const auto results = set->measure(data_of(mine), data_of(golden), {"m", "g", false}, 0, 1, log);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().status, Status::invalid_dump);
}

}  // namespace
}  // namespace opdump::msaccucmp
