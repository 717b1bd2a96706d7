#include "compare/rules/accuse/origin.h"

#include <gtest/gtest.h>

#include "compare/compare_fixture_test.h"

namespace opdump::compare {
namespace {

TEST_F(CompareTest, SaysThatAnInputWasChangedInMemory) {
  fill(*golden_);
  actual_->tensor("add.a.input.0", {1, 2}).tensor("add.a.input.1", {3, 4}).tensor("add.a.output.0", {4, 6});
  actual_->tensor("relu.b.input.0", {4, 9}).tensor("relu.b.output.0", {4, 9});
  actual_->tensor("mul.c.input.0", {4, 9}).tensor("mul.c.output.0", {8, 18});
  EXPECT_EQ(compare().first_bad->cause, "input.0 was changed in memory after a had made it");
  EXPECT_EQ(first_bad(), 1u);
}

TEST_F(CompareTest, NamesWhoMadeAnInputInOneRunOnly) {
  fill(*golden_);
  actual_->tensor("add.a.input.0", {1, 2}).tensor("add.a.input.1", {3, 4}).tensor("add.a.output.0", {4, 6});
  actual_->tensor("neg.d.input.0", {4, 6}).tensor("neg.d.output.0", {-4, -6});
  actual_->tensor("relu.b.input.0", {-4, -6}).tensor("relu.b.output.0", {0, 0});
  actual_->tensor("mul.c.input.0", {0, 0}).tensor("mul.c.output.0", {0, 0});
  EXPECT_EQ(compare().first_bad->run().name, "d");
  EXPECT_EQ(compare().first_bad->cause, "only in actual, and b, which reads what it makes, differs");
  std::swap(golden_, actual_);
  EXPECT_EQ(compare().first_bad->run().name, "d");
  EXPECT_EQ(compare().first_bad->cause, "only in golden, and b, which reads what it makes, differs");
}

TEST_F(CompareTest, SaysWhichNumberDiffersThatNoOperatorMade) {
  for (const auto& [side, number] : {std::pair(&*golden_, 0.25f), std::pair(&*actual_, 0.5f)})
    side->tensor("mul.a.input.0", {1, 2})
        .tensor("mul.a.input.1", {number})
        .tensor("mul.a.output.0", {number, 2 * number});
  EXPECT_EQ(compare().first_bad->cause, "input.1 is 0.25 in golden and 0.5 in actual");
}

TEST_F(CompareTest, TakesNoNumberForThatOfAnOperatorWhichMakesTheSame) {
  for (const auto& [side, number] : {std::pair(&*golden_, 0.25f), std::pair(&*actual_, 0.5f)})
    side->tensor("assign.a.input.0", {0.25f})
        .tensor("assign.a.output.0", {0.25f})
        .tensor("mul.b.input.0", {1, 2})
        .tensor("mul.b.input.1", {number})
        .tensor("mul.b.output.0", {number, 2 * number});
  EXPECT_EQ(compare().first_bad->cause, "input.1 is 0.25 in golden and 0.5 in actual");
}

TEST_F(CompareTest, SaysThatAnotherOperatorMadeAnInput) {
  for (const auto& [side, read] : {std::pair(&*golden_, -1.0f), std::pair(&*actual_, 1.0f)})
    side->tensor("add.a.input.0", {1, 2})
        .tensor("add.a.output.0", {4, 6})
        .tensor("neg.b.input.0", {4, 6})
        .tensor("neg.b.output.0", {-4, -6})
        .tensor("mul.c.input.0", {read * 4, read * 6})
        .tensor("mul.c.output.0", {read * 8, read * 12});
  EXPECT_EQ(compare().first_bad->cause, "input.0 is what a made, in golden what b made");
}

TEST_F(CompareTest, SaysThatAnInputHasAnotherOrder) {
  fill(*golden_);
  actual_->tensor("add.a.input.0", {1, 2}).tensor("add.a.input.1", {3, 4}).tensor("add.a.output.0", {4, 6});
  actual_->tensor("relu.b.input.0", {6, 4}).tensor("relu.b.output.0", {6, 4});
  actual_->tensor("mul.c.input.0", {6, 4}).tensor("mul.c.output.0", {12, 6});
  EXPECT_EQ(compare().first_bad->cause, "input.0 has golden's elements in another order (transposed?)");
}

TEST_F(CompareTest, SaysThatAnInputIsAnotherPart) {
  const std::vector<float> first{1, 2, 3, 4, 5, 6, 7, 8, 9}, last{11, 12, 13, 14, 15, 16, 17, 18, 19};
  std::vector<float> both = first;
  both.insert(both.end(), last.begin(), last.end());
  for (const auto& [side, read] : {std::pair(&*golden_, last), std::pair(&*actual_, first)})
    side->tensor("lstm.a.input.0", {1, 2})
        .tensor("lstm.a.output.0", both)
        .tensor("lstm.a.output.1", last)
        .tensor("neg.b.input.0", read)
        .tensor("neg.b.output.0", read);
  EXPECT_EQ(compare().first_bad->cause, "input.0 is another part of what a made");
}

TEST_F(CompareTest, SaysNothingOfInputsThatOthersMadeOtherwise) {
  fill(*golden_);
  fill(*actual_, 1);
  actual_->tensor("late.e.input.0", {5, 5}).tensor("late.e.output.0", {6, 6});
  golden_->tensor("late.e.input.0", {7, 7}).tensor("late.e.output.0", {8, 8});
  EXPECT_EQ(compare().first_bad->cause, "");  // a weight, or a part of a tensor
}

}  // namespace
}  // namespace opdump::compare
