#include "capture/step_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::capture {
namespace {

using testing::HasSubstr;

class StepRoomTest : public testing::Test {
 protected:
  StepRoom::Outlook end_step(StepRoom& room, std::uint64_t step, std::uint64_t bytes) {
    EXPECT_TRUE(budget_->spend(bytes));
    return room.end_step(step);
  }

  std::shared_ptr<dump::Budget> budget_ = std::make_shared<dump::Budget>(10 << 20, "/tmp");
  plan::StepSet steps_ = plan::StepSet::none();
};

TEST_F(StepRoomTest, TheFirstStepSaysWhatAllNeed) {
  steps_.add(0, 4);
  StepRoom room(budget_, steps_);
  EXPECT_TRUE(room.needs_everything(0));
  const auto first = end_step(room, 0, 1 << 20);
  EXPECT_EQ(
      first.line,
      "step 0: 1.0 MiB on disk; 4 more steps requested: about 4.0 MiB, and 9.0 MiB are left of the budget "
      "of 10.0 MiB");
  EXPECT_FALSE(first.refusal);
  EXPECT_FALSE(room.needs_everything(0));
  const auto second = end_step(room, 1, 1 << 20);
  EXPECT_EQ(second.line, "");
  EXPECT_FALSE(second.refusal);
}

TEST_F(StepRoomTest, MoreThanThereIsRoomForIsRefused) {
  steps_.add(0, 99);
  StepRoom room(budget_, steps_);
  const auto outlook = end_step(room, 0, 1 << 20);
  ASSERT_TRUE(outlook.refusal);
  EXPECT_EQ(outlook.line, "");
  EXPECT_EQ(outlook.remaining, 99u);
  EXPECT_THAT(outlook.refusal->message(),
              HasSubstr("99 more steps requested: about 99.0 MiB, and 9.0 MiB are left"));
}

TEST_F(StepRoomTest, EveryStepIsAsManyAsThereIsRoomFor) {
  steps_ = plan::StepSet::all();
  StepRoom room(budget_, steps_);
  const auto first = end_step(room, 0, 3 << 20);
  EXPECT_THAT(first.line, HasSubstr("room for about 2 more"));
  EXPECT_TRUE(room.needs_everything(4 << 20));
  EXPECT_FALSE(end_step(room, 1, 3 << 20).refusal);
  const auto third = end_step(room, 2, 3 << 20);
  ASSERT_TRUE(third.refusal);
  EXPECT_THAT(third.refusal->message(), HasSubstr("a step needs up to 3.0 MiB, and 1.0 MiB are left of"));
}

TEST_F(StepRoomTest, NothingToSayAboutTheLastStep) {
  steps_.add(7, 7);
  StepRoom room(budget_, steps_);
  const auto outlook = end_step(room, 7, 10 << 20);
  EXPECT_TRUE(outlook.line.empty());
  EXPECT_FALSE(outlook.refusal);
}

TEST_F(StepRoomTest, AStepWithoutAnythingIsNoMeasure) {
  steps_.add(0, 1000);
  StepRoom room(budget_, steps_);
  EXPECT_EQ(end_step(room, 0, 0).line, "");
  EXPECT_TRUE(room.needs_everything(0));
  EXPECT_TRUE(end_step(room, 1, 1 << 20).refusal);
}

}  // namespace
}  // namespace opdump::capture
