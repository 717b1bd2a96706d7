// What becomes of a recording whose directory goes, or cannot be made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "capture/session.h"
#include "capture/session_fixture_test.h"

namespace opdump::capture {
namespace {

TEST_F(SessionTest, ARemovedDirectoryStopsTheRecordingOnly) {
  auto session = open(make_plan(plan::Content::both));
  const Floats x({20'000}, 1);
  run(*session, define(*session, "a"), {x.operand(0)}, {});
  EXPECT_TRUE(session->flush());
  fs::remove_all(root_);
  std::ofstream(root_) << "in the way";
  for (int i = 0; i < 20; ++i)
    run(*session, define(*session, "b"), {x.operand(0), x.operand(1)}, {x.operand(0)});
  EXPECT_FALSE(session->flush());
  EXPECT_FALSE(session->wants(define(*session, "b")).call);
  EXPECT_FALSE(session->set_step(1));
  EXPECT_FALSE(session->selects_step(1));
  EXPECT_EQ(session->begin(define(*session, "b"), {}), nullptr);
  EXPECT_FALSE(session->close());
  EXPECT_EQ(log_lines("recording stopped: "), 1);
}

TEST_F(SessionTest, ARemovedDirectoryIsNamedAlsoByLinks) {
  auto session = open(make_plan(plan::Content::tensor));
  const Floats x({100}, 1);
  run(*session, define(*session, "a"), {}, {x.operand(0, 1)});
  EXPECT_TRUE(session->flush());
  fs::remove_all(root_);
  run(*session, define(*session, "b"), {x.operand(0, 1)}, {});
  EXPECT_FALSE(session->flush());
  EXPECT_EQ(log_lines("recording stopped: "), 1);
  EXPECT_EQ(log_lines("the directory was removed while recording"), 1);
  EXPECT_FALSE(session->close());
}

TEST_F(SessionTest, AnOutputDirectoryThatCannotBeMadeIsRefused) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.root = "/proc/opdump";
  const auto session = Session::open(std::move(plan), {});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message(), HasSubstr("/proc/opdump"));
}

// Threads run operators on blocks they share and on blocks of their own, overwriting them as engines do.

}  // namespace
}  // namespace opdump::capture
