#include "compare/rules/rounding/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compare/compare_fixture_test.h"
#include "dump/operator_log.h"

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ChoiceRun : public RecordedOperator {
 public:
  using RecordedOperator::RecordedOperator;
  ChoiceRun& reads(model::Shape shape, const std::vector<float>& values) {
    with(model::Side::input, 0, std::move(shape), values);
    return *this;
  }
  ChoiceRun& gives(model::Shape shape, const std::vector<float>& values) {
    with(model::Side::output, 0, std::move(shape), values);
    return *this;
  }
  ChoiceRun& at(std::uint32_t index, model::Shape shape, const std::vector<std::int64_t>& places) {
    with_integers(model::Side::output, index, std::move(shape), places);
    return *this;
  }
};

TEST(Choice, TheLargestNumbersAndWhereTheyAre) {
  const auto topk = [](std::vector<float> values, std::vector<std::int64_t> places) {
    ChoiceRun execution("topk", R"({"self":{"tensor":0},"k":2,"dim":-1,"largest":true,"sorted":true})");
    execution.reads({2, 3}, {1, 3, 2, 5, 4, 5}).gives({2, 2}, std::move(values)).at(1, {2, 2}, places);
    return chooses_right(execution.run);
  };
  EXPECT_EQ(topk({3, 2, 5, 5}, {1, 2, 0, 2}), true);
  EXPECT_EQ(topk({3, 2, 5, 5}, {1, 2, 2, 0}), true);
  EXPECT_EQ(topk({3, 2, 5, 5}, {1, 2, 2, 2}), false);
  EXPECT_EQ(topk({3, 1, 5, 5}, {1, 0, 0, 2}), false);
  EXPECT_EQ(topk({3, 2, 5, 5}, {1, 0, 0, 2}), false);
  EXPECT_EQ(topk({3, 2, 5, 5}, {1, 3, 0, 2}), false);
}

TEST(Choice, AlongAnAxisOrOfAll) {
  ChoiceRun sort("sort", R"({"self":{"tensor":0},"dim":0,"descending":false})");
  sort.reads({2, 2}, {2, 3, 1, 4}).gives({2, 2}, {1, 3, 2, 4}).at(1, {2, 2}, {1, 0, 0, 1});
  EXPECT_EQ(chooses_right(sort.run), true);
  for (const auto& [place, is_right] :
       {std::pair(std::int64_t{3}, true), std::pair(std::int64_t{1}, false)}) {
    ChoiceRun argmax("argmax", R"({"self":{"tensor":0},"dim":null})");
    argmax.reads({2, 2}, {2, 3, 1, 4}).at(0, {}, {place});
    EXPECT_EQ(chooses_right(argmax.run), is_right);
  }
}

TEST(Choice, OfAWindowOnlyItsNumberIsKnown) {
  ChoiceRun pool("max_pool2d_with_indices", R"({"self":{"tensor":0}})");
  pool.reads({1, 2, 2}, {2, 3, 1, 4}).gives({1, 1, 1}, {4}).at(1, {1, 1, 1}, {3});
  EXPECT_EQ(chooses_right(pool.run), true);
}

TEST(Choice, OtherOperatorsDoNotChoose) {
  ChoiceRun exp("exp", R"({"self":{"tensor":0}})");
  exp.reads({1}, {0}).gives({1}, {1});
  EXPECT_EQ(chooses_right(exp.run), std::nullopt);
}

class FlipTest : public CompareTest {
 protected:
  static std::string bytes(std::vector<std::int64_t> places) {
    return {reinterpret_cast<const char*>(places.data()), places.size() * 8};
  }
  // Scores; where the greatest is, and a row that it chooses, of the sum of its operator.
  static void fill(HandMade& dump, std::vector<float> scores, std::int64_t best, float row) {
    model::Operator op;
    op.name = "b";
    op.type = "topk";
    auto log = dump::OperatorLogWriter::open(dump.root() / "rank_0");
    ASSERT_TRUE(log);
    log->add(op);
    log->add(dump::LoggedForm{
        .operator_name = "b",
        .form = {.arguments = R"({"self":{"tensor":0},"k":1,"dim":-1,"largest":true,"sorted":true})"}});
    ASSERT_TRUE(log->flush());
    dump.tensor("exp.a.input.0", {1, 2, 3}).tensor("exp.a.output.0", scores);
    dump.tensor("topk.b.input.0", scores).tensor("topk.b.output.0", {scores[static_cast<std::size_t>(best)]});
    dump.raw("topk.b.output.1", "<i8", "(1,)", bytes({best}), "int64");
    dump.raw("index.c.input.0", "<i8", "(1,)", bytes({best}), "int64").tensor("index.c.output.0", {row});
    dump.tensor("mul.d.input.0", {row}).tensor("mul.d.output.0", {2 * row});
  }
};

TEST_F(FlipTest, WhatFollowsFromEqualNumbersIsNoDifference) {
  fill(*golden_, {1, 2, 1.9999999F}, 1, 5);
  fill(*actual_, {1, 1.9999999F, 2}, 2, 6);
  EXPECT_EQ(compare().outcome, Answer::same);
  EXPECT_THAT(verdicts(), ElementsAre("a:match", "b:rounding", "c:rounding", "d:rounding"));
  EXPECT_THAT(note_texts(), ElementsAre(HasSubstr("1 choice between numbers that are equal")));
}

TEST_F(FlipTest, AWrongChoiceIsADifference) {
  fill(*golden_, {1, 2, 1.9999999F}, 1, 5);
  fill(*actual_, {1, 2, 1.9999999F}, 2, 6);
  EXPECT_EQ(compare().outcome, Answer::differs);
  EXPECT_EQ(first_bad(), 1u);
}

TEST_F(FlipTest, AChoiceOfOtherNumbersIsADifference) {
  fill(*golden_, {1, 2, 1.5F}, 1, 5);
  fill(*actual_, {1, 2, 2.5F}, 2, 6);
  EXPECT_EQ(compare().outcome, Answer::differs);
  EXPECT_EQ(first_bad(), 0u);
}

}  // namespace
}  // namespace opdump::compare
