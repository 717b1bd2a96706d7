// Recordings that watch the program: the ring of steps, and what ends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "capture/flight_recorder.h"
#include "capture/session_fixture_test.h"
#include "dump/watch_file.h"

namespace opdump::capture {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class SessionWatchTest : public GraphSessionTest {
 protected:
  std::unique_ptr<Session> watch(std::uint64_t steps) {
    plan::DumpPlan plan = make_plan(plan::Content::statistics);
    plan.watch_steps = steps;
    plan.statistics = {plan::Statistic::max, plan::Statistic::min, plan::Statistic::nan_count,
                       plan::Statistic::negative_inf_count, plan::Statistic::positive_inf_count};
    return open(std::move(plan), graph_options());
  }

  static const DefinedOperator* define_in(Session& session, model::Phase phase, std::string name,
                                          std::string type = "Add") {
    model::Operator op;
    op.type = std::move(type);
    op.name = std::move(name);
    op.phase = phase;
    return session.define(std::move(op));
  }

  // One operator of one input and one output.
  static void compute(Session& session, model::Phase phase, const std::string& name, float read, float made,
                      const std::string& type = "Add") {
    const Floats input({4}, read), output({4}, made);
    Operand given = input.operand(0, 1);
    given.owner = &owner_;
    run(session, define_in(session, phase, name, type), {given}, {output.operand(0, 2)});
  }
  static void forward(Session& session, const std::string& name, float read, float made) {
    compute(session, model::Phase::forward, name, read, made);
  }
  static void backward(Session& session, const std::string& name, float read, float made) {
    compute(session, model::Phase::backward, name, read, made);
  }

  std::vector<std::int64_t> steps() {
    const dump::DumpSet dump = read();
    std::vector<std::int64_t> steps;
    for (std::uint32_t i = 0; i < dump.runs().section_count(); ++i)
      steps.push_back(dump.runs().section(i).step);
    return steps;
  }

  dump::Watched watched() {
    auto watched = dump::read_watch_file(root_ / "rank_0");
    EXPECT_TRUE(watched) << watched.error().message();
    return watched ? std::move(*watched) : dump::Watched();
  }

  static inline int owner_ = 0;
};

TEST_F(SessionWatchTest, TheLastStepsAreKept) {
  auto session = watch(3);
  for (std::int64_t step = 0; step < 10; ++step) {
    EXPECT_TRUE(session->set_step(step));
    forward(*session, step % 2 == 0 ? "even" : "odd", 1, 2);  // graphs of their own
  }
  session->set_step(10);
  session->mark_step(StepEnd::tail);
  ASSERT_TRUE(session->close());
  session.reset();
  EXPECT_THAT(steps(), testing::UnorderedElementsAre(7, 8, 9));
  EXPECT_EQ(watched().alarm.kind, "");
  EXPECT_EQ(watched().first_step, 7);
  EXPECT_EQ(watched().kept_steps, 3u);
  EXPECT_EQ(lent, 0);
}

TEST_F(SessionWatchTest, ItEndsWithTheStepOfTheFirstInfinity) {
  auto session = watch(2);
  for (std::int64_t step = 0; step < 6; ++step) {
    EXPECT_EQ(session->set_step(step), step < 5);
    if (step == 5) break;
    forward(*session, "first", 1, step == 4 ? kInfinity : 2);
    forward(*session, "second", step == 4 ? kInfinity : 2, step == 4 ? kNan : 3);
  }
  ASSERT_TRUE(session->close());
  session.reset();
  EXPECT_THAT(steps(), ElementsAre(3, 4));
  const dump::Alarm alarm = watched().alarm;
  EXPECT_EQ(alarm.kind, "not_finite");
  EXPECT_EQ(alarm.step, 4);
  EXPECT_EQ(alarm.operator_name, "first");
  EXPECT_EQ(alarm.slot, "output.0");
  EXPECT_EQ(log_lines("step 4: NaN or infinities begin with first"), 1);
  // Its tensors are there, those of others are not.
  const dump::DumpSet dump = read();
  for (const dump::OperatorRun& run : dump.runs())
    for (const dump::Slot& slot : run.slots)
      EXPECT_EQ(!slot.file.empty(), run.step == 4 && run.name == "first") << run.name << " " << run.step;
  EXPECT_EQ(lent, 0);
}

TEST_F(SessionWatchTest, WhatIsAskedForOrReadIsNoAlarm) {
  auto session = watch(2);
  const Floats infinite({4}, -kInfinity);
  for (std::int64_t step = 0; step < 3; ++step) {
    session->set_step(step);
    Call* call = session->begin(define(*session, "full"), {});
    ASSERT_NE(call, nullptr);
    if (session->needs_arguments(*call, 7))  // equal arguments are passed once
      session->set_arguments(*call, {.arguments = {model::Argument{"value", -double{kInfinity}}}});
    const Operand output = infinite.operand(0, 5);
    session->end(call, {&output, 1}, false);
    forward(*session, "add", -kInfinity, -kInfinity);
  }
  ASSERT_TRUE(session->close());
  EXPECT_EQ(watched().alarm.kind, "");
}

TEST_F(SessionWatchTest, AnInputThatIsOverwrittenIsNotKept) {
  auto session = watch(2);
  const Floats before({4}, 1), after({4}, kInfinity);
  Operand input = before.operand(0, 1), output = after.operand(0, 2);
  input.owner = output.owner = &owner_;
  run(*session, define(*session, "exp_"), {input}, {output});
  ASSERT_TRUE(session->close());
  session.reset();
  const dump::DumpSet dump = read();
  ASSERT_EQ(dump.runs().size(), 1u);
  const dump::OperatorRun run = dump.runs()[0];
  ASSERT_EQ(run.slots.size(), 2u);
  EXPECT_TRUE(run.slots[0].file.empty());
  EXPECT_FALSE(run.slots[1].file.empty());
}

constexpr const char* kUnscale = "_amp_foreach_non_finite_check_and_unscale_";

TEST_F(SessionWatchTest, AGradScalerSkipsSomeUpdates) {
  auto session = watch(2);
  for (std::int64_t step = 0; step < 60; ++step) {
    session->set_step(step);
    const float gradient = step % 3 == 0 ? kInfinity : 2;
    backward(*session, "gradient", 1, gradient);
    compute(*session, model::Phase::forward, "unscale", gradient, gradient, kUnscale);
  }
  ASSERT_TRUE(session->close());
  EXPECT_EQ(watched().alarm.kind, "");
  EXPECT_EQ(watched().skipped_count, 20u);
}

TEST_F(SessionWatchTest, AGradScalerThatSkipsAllUpdates) {
  auto session = watch(2);
  bool is_recorded = true;
  std::int64_t step = 0;
  for (; step < 60 && (is_recorded = session->set_step(step)); ++step) {
    backward(*session, "gradient", 1, kInfinity);
    compute(*session, model::Phase::forward, "unscale", kInfinity, kInfinity, kUnscale);
  }
  EXPECT_EQ(step, static_cast<std::int64_t>(FlightRecorder::kMostSkipped));
  ASSERT_TRUE(session->close());
  EXPECT_EQ(watched().alarm.kind, "scaler");
  EXPECT_EQ(watched().alarm.operator_name, "gradient");
  EXPECT_EQ(watched().alarm.step, 15);
}

TEST_F(SessionWatchTest, WithoutAGradScalerAGradientIsAnAlarm) {
  auto session = watch(2);
  session->set_step(0);
  backward(*session, "gradient", 1, kNan);
  EXPECT_EQ(watched().alarm.kind, "") << "the step has not ended";
  EXPECT_FALSE(session->set_step(1));
  EXPECT_EQ(watched().alarm.kind, "not_finite");
  EXPECT_EQ(watched().alarm.operator_name, "gradient");
  ASSERT_TRUE(session->close());
}

TEST_F(SessionWatchTest, ANanFromOutsideIsOneWhenItArrives) {
  auto session = watch(2);
  session->set_step(0);
  forward(*session, "masks it", kNan, 0);
  backward(*session, "gradient", 1, 2);
  EXPECT_TRUE(session->set_step(1));
  forward(*session, "reads it", kNan, kNan);
  backward(*session, "gradient", kNan, kNan);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(watched().alarm.kind, "outer_nan");
  EXPECT_EQ(watched().alarm.operator_name, "reads it");
  EXPECT_EQ(watched().alarm.slot, "input.0");
}

TEST_F(SessionWatchTest, TheFirstAlarmOfTheProgramCounts) {
  auto session = watch(2);
  session->set_step(0);
  forward(*session, "add", 1, 2);
  session->raise_alarm("alarm", "first");
  session->raise_alarm("alarm", "second");
  forward(*session, "exp", 1, kInfinity);
  EXPECT_FALSE(session->set_step(1));
  ASSERT_TRUE(session->close());
  EXPECT_EQ(watched().alarm.kind, "alarm");
  EXPECT_EQ(watched().alarm.text, "first");
  EXPECT_EQ(watched().alarm.step, 0);
}

TEST_F(SessionWatchTest, AWorkerOfALoaderIsNotWatched) {
  plan::DumpPlan plan = make_plan(plan::Content::statistics);
  plan.watch_steps = 2;
  SessionOptions options;
  options.process = "worker0";
  auto session = open(std::move(plan), std::move(options));
  EXPECT_FALSE(session->set_step(0));
  ASSERT_TRUE(session->close());
}

TEST_F(SessionWatchTest, OtherRecordingsHaveNoAlarm) {
  auto session = open(make_plan(plan::Content::statistics), graph_options());
  session->set_step(0);
  forward(*session, "exp", 1, kInfinity);
  session->raise_alarm("alarm", "text");
  EXPECT_TRUE(session->set_step(1));
  ASSERT_TRUE(session->close());
  EXPECT_EQ(dump::read_watch_file(root_ / "rank_0").error().code(), Code::not_found);
}

}  // namespace
}  // namespace opdump::capture
