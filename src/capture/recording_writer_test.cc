#include "capture/recording_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "capture/recording_fixture_test.h"
#include "dump/write/step_directories.h"
#include "math/stats/stats.h"

namespace opdump::capture {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RecordingWriterTest : public RecordingTest {
 protected:
  RecordingWriterTest() { plan_.content = plan::Content::statistics; }

  // A call with the statistics of one output.
  void push(const DefinedOperator& op) {
    static const std::vector<float> values{1, 2};
    const Operand operand = make_operand(values);
    CallPointer call = make_call(op);
    RecordedSlot& slot = call->slots.emplace_back();
    slot.address = {&op.op, 0, call->step, ++time_us_, model::Side::output, 0};
    slot.dtype = operand.view.dtype;
    slot.shape = operand.view.shape;
    slot.data_bytes = operand.view.byte_count();
    slot.statistics = math::finish(math::partial_stats(operand.view, rules_->needs.statistics));
    writer_->calls().push(std::move(call));
  }

  std::uint64_t time_us_ = 1'700'000'000'000'000;
};

TEST_F(RecordingWriterTest, RowsAreWrittenInOrderAndCounted) {
  start();
  const DefinedOperator &a = define("a"), &b = define("b");
  push(a);
  push(b);
  push(a);
  EXPECT_FALSE(a.is_written);
  ASSERT_TRUE(writer_->flush());
  EXPECT_TRUE(a.is_written && b.is_written);
  ASSERT_TRUE(writer_->close(StepEnd::whole, 0, {}));
  EXPECT_THAT(read_runs(), ElementsAre("a out0", "b out0", "a out0"));
  EXPECT_EQ(status().state, "complete");
  EXPECT_EQ(status().operator_count, 2u);
  EXPECT_EQ(status().row_count, 3u);
  EXPECT_EQ(status().last_step, 0);
}

TEST_F(RecordingWriterTest, AFailureStopsTheRecordingOnce) {
  start();
  push(define("a"));
  writer_->stop(Error(Code::io, "disk full"), "a, step 0", 2);
  writer_->stop(Error(Code::io, "disk full again"), "b, step 0", 1);
  EXPECT_TRUE(state_.stopped);
  EXPECT_FALSE(state_.recording);
  EXPECT_TRUE(writer_->has_failed());
  const auto flushed = writer_->flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().message(), "disk full");
  ASSERT_TRUE(writer_->close(StepEnd::whole, 0, {}));
  EXPECT_EQ(status().state, "incomplete");
  ASSERT_EQ(status().losses.size(), 1u);
  EXPECT_EQ(status().losses[0].count, 3u);  // with the call that was waiting
  EXPECT_EQ(
      std::ranges::count_if(log_, [](const auto& line) { return line.starts_with("recording stopped"); }), 1);
}

TEST_F(RecordingWriterTest, EqualLossesAreCountedAndLoggedOnce) {
  start();
  writer_->report_unseen("a graph", "too many");
  writer_->report_unseen("a graph", "too many");
  EXPECT_THAT(log_, ElementsAre("a graph is not recorded: too many"));
  ASSERT_TRUE(writer_->close(StepEnd::whole, 0, {}));
  ASSERT_EQ(status().losses.size(), 1u);
  EXPECT_EQ(status().losses[0].count, 2u);
}

TEST_F(RecordingWriterTest, ARestIsOverWithTheNextCall) {
  start();
  const auto state = [&] {
    return dump::read_status_file(writer_->rank_directory() / dump::kStatusFileName)->state;
  };
  ASSERT_TRUE(writer_->rest());
  EXPECT_EQ(state(), "idle");
  writer_->wake();
  EXPECT_EQ(state(), "recording");
  EXPECT_FALSE(writer_->is_resting());
}

TEST_F(RecordingWriterTest, ATailIsNoStep) {
  start();
  const DefinedOperator& a = define("a");
  push(a);
  state_.step = 1;
  push(a);
  ASSERT_TRUE(writer_->flush());
  const std::vector<std::string> sentences{"'x' matched nothing"};
  ASSERT_TRUE(writer_->close(StepEnd::tail, 0, sentences));
  EXPECT_EQ(status().last_step, 0);
  EXPECT_EQ(status().tail_step, 1);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("step 0 to "), "'x' matched nothing"));
}

TEST_F(RecordingWriterTest, AStepMovesToTheDirectoryOfItsGraph) {
  start();
  push(define("a"));
  GraphRecorder::EndedStep ended;
  ended.graph_id = 3;
  writer_->end_step(ended, 0, true);
  EXPECT_FALSE(state_.stopped);
  EXPECT_TRUE(std::filesystem::exists(writer_->rank_directory() / "net/3/0/statistic.csv"));
  EXPECT_FALSE(std::filesystem::exists(writer_->rank_directory() / "net/0/0"));
}

}  // namespace
}  // namespace opdump::capture
