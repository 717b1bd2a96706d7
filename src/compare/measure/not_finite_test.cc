#include "compare/measure/not_finite.h"

#include <gtest/gtest.h>

namespace opdump::compare {
namespace {

using model::Side;

NotFinite make_infinities(std::uint64_t count) { return {.inf = count}; }
NotFinite make_nans(std::uint64_t count) { return {.nan = count}; }

struct InputAndOutput {
  std::optional<NotFinite> input, output;
  bool may_ask = false;
};

NotFiniteSearch search(const std::vector<InputAndOutput>& runs) {
  NotFiniteSearch found;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    found.begin(i, runs[i].may_ask);
    found.take(Side::input, 0, runs[i].input);
    found.take(Side::output, 0, runs[i].output);
    found.end();
  }
  return found;
}

TEST(NotFinite, AMaskIsNoFault) {
  // masked_fill(x, mask, -inf), then a softmax of it, which is finite.
  const auto found = search({{NotFinite(), make_infinities(3), true}, {make_infinities(3), NotFinite()}});
  EXPECT_FALSE(found.nan() || found.made_infinity() || found.outer_infinity());
  EXPECT_TRUE(found.has_asked());
}

TEST(NotFinite, AnInfiniteNumberOfTheProgramIsNoFault) {
  for (const bool is_number : {true, false}) {
    NotFiniteSearch found;
    found.begin(0, false);
    found.take(Side::input, 1, make_infinities(1), is_number);
    found.take(Side::output, 0, make_infinities(3));
    found.end();
    EXPECT_EQ(found.outer_infinity().has_value(), !is_number);
    EXPECT_EQ(found.has_asked(), is_number);
    EXPECT_FALSE(found.made_infinity());
  }
}

TEST(NotFinite, NanOfInfinitiesIsMadeThere) {
  const auto found = search({{NotFinite(), make_infinities(3), true}, {make_infinities(3), make_nans(2)}});
  ASSERT_TRUE(found.made_nan());
  EXPECT_EQ(found.made_nan()->run, 1u);
  EXPECT_EQ(describe_making(*found.made_nan()), "its inputs have 3 infinities and no NaN: it made them");
  EXPECT_FALSE(found.made_infinity());
}

TEST(NotFinite, AnOverflowIsMade) {
  const auto found = search({{NotFinite(), NotFinite()}, {NotFinite(), make_infinities(1)}});
  ASSERT_TRUE(found.made_infinity());
  EXPECT_EQ(found.made_infinity()->run, 1u);
  EXPECT_EQ(describe_making(*found.made_infinity()), "its inputs are finite: it made them");
}

TEST(NotFinite, NanFromOutsideIsNotMade) {
  const auto found = search({{make_nans(1), make_nans(4)}, {NotFinite(), make_nans(4)}});
  EXPECT_FALSE(found.nan()->is_made_here());
  EXPECT_EQ(found.made_nan()->run, 1u);
}

TEST(NotFinite, ExtremesCountNothing) {
  const auto found =
      count_not_finite(Columns{{"Max Value", "inf"}, {"Min Value", "-inf"}, {"L2Norm Value", "inf"}});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_counted);
  EXPECT_EQ(describe(*found), "infinities");
  EXPECT_FALSE(count_not_finite(Columns{{"L2Norm Value", "inf"}}));
  const auto counts = count_not_finite(Columns{
      {"NaN Count", "2"}, {"Negative Inf Count", "1"}, {"Positive Inf Count", "4"}, {"Max Value", "nan"}});
  EXPECT_EQ(describe(*counts), "2 NaN and 5 infinities");
}

TEST(NotFinite, OnlyInfiniteArgumentsAsk) {
  const dump::CallForm mask{
      .function = "aten::masked_fill.Scalar",
      .arguments = R"({"self":{"tensor":0},"mask":{"tensor":1},"value":{"float":"-inf"}})"};
  const dump::CallForm exp{.function = "aten::exp", .arguments = R"({"self":{"tensor":0}})"};
  EXPECT_TRUE(asks_for_infinity(&mask));
  EXPECT_FALSE(asks_for_infinity(&exp));
  EXPECT_FALSE(asks_for_infinity(nullptr));
}

}  // namespace
}  // namespace opdump::compare
