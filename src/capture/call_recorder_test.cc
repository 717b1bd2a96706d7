#include "capture/call_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "capture/recording_fixture_test.h"

namespace opdump::capture {
namespace {

using testing::ElementsAre;

class CallRecorderTest : public RecordingTest {
 protected:
  std::unique_ptr<CallRecorder> make(bool reuses = false) {
    start();
    CallRecorder::Options options;
    options.reuses = reuses;
    return std::make_unique<CallRecorder>(plan_, options, *rules_, state_, *operators_, *writer_);
  }

  void run(CallRecorder& recorder, const DefinedOperator& op, const std::vector<Operand>& inputs,
           const std::vector<Operand>& outputs, bool failed = false) {
    CallPointer call = make_call(op);
    recorder.begin(*call, inputs);
    recorder.end(std::move(call), outputs, failed);
  }

  const std::vector<float> values_{1, 2}, infinite_{1, std::numeric_limits<float>::infinity()};
};

TEST_F(CallRecorderTest, RecordsBothSidesOfACall) {
  const auto recorder = make();
  run(*recorder, define("a"), {make_operand(values_)}, {make_operand(values_)});
  ASSERT_TRUE(recorder->flush());
  EXPECT_THAT(read_runs(), ElementsAre("a in0 out0"));
  EXPECT_EQ(writer_->call_count(), 1u);
}

TEST_F(CallRecorderTest, RecordsTheSideThatThePlanWants) {
  plan_.sides = plan::Sides::outputs;
  const auto recorder = make();
  run(*recorder, define("a"), {make_operand(values_)}, {make_operand(values_)});
  ASSERT_TRUE(recorder->flush());
  EXPECT_THAT(read_runs(), ElementsAre("a out0"));
}

TEST_F(CallRecorderTest, EqualContentsAreOneFile) {
  const auto recorder = make(true);
  run(*recorder, define("a"), {}, {make_operand(values_, 7)});
  run(*recorder, define("b"), {make_operand(values_, 7)}, {});
  ASSERT_TRUE(recorder->flush());
  EXPECT_THAT(read_runs(), ElementsAre("a out0", "b in0"));
  for (const auto& file : std::filesystem::directory_iterator(writer_->rank_directory() / "net/0/0")) {
    const bool is_tensor = file.path().extension() == ".npy";
    EXPECT_EQ(file.hard_link_count(), is_tensor ? 2u : 1u);
  }
}

TEST_F(CallRecorderTest, RecordsOnlyTheFirstOneThatOverflows) {
  plan_.debug = plan::DebugMode::overflow;
  plan_.overflow_limit = 1;
  const auto recorder = make();
  run(*recorder, define("fine"), {make_operand(values_)}, {make_operand(values_)});
  EXPECT_FALSE(recorder->has_enough());
  run(*recorder, define("overflows"), {make_operand(values_)}, {make_operand(infinite_, 7)});
  EXPECT_TRUE(recorder->has_enough());
  run(*recorder, define("passes"), {make_operand(infinite_, 7)}, {make_operand(infinite_)});
  run(*recorder, define("second"), {make_operand(values_)}, {make_operand(infinite_)});
  ASSERT_TRUE(recorder->flush());
  EXPECT_THAT(read_runs(), ElementsAre("overflows in0 out0"));
}

TEST_F(CallRecorderTest, AFailedCallIsWrittenBeforeItsErrorReachesTheProgram) {
  plan_.debug = plan::DebugMode::exception;
  const auto recorder = make();
  run(*recorder, define("a"), {make_operand(values_)}, {make_operand(values_)});
  run(*recorder, define("b"), {make_operand(values_)}, {}, true);
  EXPECT_THAT(read_runs(), ElementsAre("b in0"));
}

TEST_F(CallRecorderTest, ATensorThatCannotBeStoredIsLogged) {
  const auto recorder = make();
  Operand view = make_operand(values_);
  view.undumped = "view";
  run(*recorder, define("a"), {make_operand(values_)}, {view});
  run(*recorder, define("b"), {}, {view});
  ASSERT_TRUE(recorder->flush());
  EXPECT_EQ(writer_->call_count(), 1u);  // the second one has nothing to write
  EXPECT_EQ(define("b").undumped_bits, 2u);
}

}  // namespace
}  // namespace opdump::capture
