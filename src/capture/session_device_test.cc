// Tensors of devices: values and statistics that arrive later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capture/session_fixture_test.h"

namespace opdump::capture {
namespace {

// Values that a device delivers 30 ms after the recorder got to know of them.
struct LateFloats {
  Floats arriving;
  float value;
  std::thread device;
  std::atomic<bool> is_there{false};

  LateFloats(Shape shape, float value) : arriving(shape, -1), value(value) {
    device = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      std::ranges::fill(arriving.values, this->value);
      is_there = true;
    });
  }
  ~LateFloats() { device.join(); }
  Operand operand(std::uint32_t index) {
    Operand operand = arriving.operand(index);
    operand.owner = this;
    operand.is_late = true;
    return operand;
  }
};

class SessionDeviceTest : public SessionTest {
 protected:
  static SessionOptions borrowing() {
    SessionOptions options;
    options.retain = [](void*) { ++held_; };
    options.release = [](void*) { --held_; };
    return options;
  }

  static inline std::atomic<int> held_{0};  // pieces of memory that have not come back
};

TEST_F(SessionDeviceTest, LateValuesAreReadWhenTheyAreThere) {
  SessionOptions options = borrowing();
  options.wait = [](void* owner) {
    while (!static_cast<LateFloats*>(owner)->is_there) std::this_thread::yield();
    return 0;
  };
  LateFloats small({2, 3}, 7), large({300, 1300}, 8);
  auto session = open(make_plan(plan::Content::both), options);
  run(*session, define(*session, "Default/Add-op0"), {small.operand(0)}, {large.operand(0)});
  EXPECT_FALSE(large.is_there) << "the program does not wait";
  ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 1u);
  const auto& slots = set.runs()[0].slots;
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(values_of(slots[0]), std::vector<float>(6, 7));
  EXPECT_EQ(slots[0].statistics.columns()[0].second, "7");
  EXPECT_EQ(slots[1].statistics.columns()[0].second, "8");
  EXPECT_EQ(held_, 0);
}

// Numbers instead of a tensor, on their way or here already.
TEST_F(SessionDeviceTest, StatisticsOfTheEngineAreWritten) {
  SessionOptions options = borrowing();
  options.wait = [](void* owner) {
    double* numbers = static_cast<double*>(owner);
    numbers[0] = 4, numbers[1] = -4, numbers[3] = 5;
    return 0;
  };
  plan::DumpPlan plan = make_plan(plan::Content::statistics);
  plan.statistics = {plan::Statistic::l2norm, plan::Statistic::max, plan::Statistic::min};
  plan.statistics_processor = plan::Processor::device;
  auto session = open(std::move(plan), options);
  EXPECT_THAT(session->device_statistics(),
              ElementsAre(plan::Statistic::l2norm, plan::Statistic::max, plan::Statistic::min));
  double late[4] = {}, here[4] = {7, 6, 0, 8};
  Operand input = Floats({2, 3}).operand(0), output = Floats({3}).operand(0);
  input.view.data = output.view.data = nullptr;
  input.statistics = late, output.statistics = here;
  input.owner = late, input.is_late = true;
  run(*session, define(*session, "Default/Add-op0"), {input}, {output});
  ASSERT_TRUE(session->close());
  EXPECT_EQ(log_lines("on the host all the same"), 0);
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 1u);
  const auto& slots = set.runs()[0].slots;
  ASSERT_EQ(slots.size(), 2u);
  const auto values = [](const dump::Slot& slot) {
    std::vector<std::string> texts;
    for (const auto& [column, text] : slot.statistics.columns()) texts.emplace_back(text);
    return texts;
  };
  EXPECT_THAT(values(slots[0]), ElementsAre("5", "4", "-4"));
  EXPECT_EQ(log_lines("the device does not compute"), 0);
  EXPECT_THAT(values(slots[1]), ElementsAre("8", "7", "6"));
  EXPECT_EQ(slots[1].shape, Shape({3}));
  EXPECT_EQ(held_, 0);
}

TEST_F(SessionDeviceTest, WhatADeviceDoesNotComputeIsSaidOnce) {
  plan::DumpPlan plan = make_plan(plan::Content::statistics);
  plan.statistics = {plan::Statistic::max, plan::Statistic::l2norm};
  plan.statistics_processor = plan::Processor::device;
  auto session = open(std::move(plan), borrowing());
  double numbers[4] = {1, 0, 0.5, 1};
  Operand input = Floats({2}).operand(0);
  input.view.data = nullptr, input.view.dtype = model::DType::boolean, input.statistics = numbers;
  run(*session, define(*session, "Default/Not-op0"), {input}, {input});
  ASSERT_TRUE(session->close());
  EXPECT_EQ(log_lines("the device does not compute l2norm of bool: such statistics are null"), 1);
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 1u);
  const auto columns = set.runs()[0].slots[0].statistics.columns();
  EXPECT_EQ(columns[0].second, "True");
  EXPECT_EQ(columns[1].second, "null");
}

// An engine without devices, and plans that need the values.
TEST_F(SessionDeviceTest, WhatOnlyValuesTellIsComputedHere) {
  const auto device_plan = [this] {
    plan::DumpPlan plan = make_plan(plan::Content::statistics);
    plan.statistics_processor = plan::Processor::device;
    return plan;
  };
  (void)open(device_plan());
  EXPECT_EQ(log_lines("on the host all the same"), 1);
  plan::DumpPlan counts = device_plan(), samples = device_plan();
  counts.statistics.push_back(plan::Statistic::nan_count);
  samples.sample_count = 2;
  EXPECT_FALSE(open(device_plan())->device_statistics().empty());
  EXPECT_TRUE(open(std::move(counts))->device_statistics().empty());
  EXPECT_TRUE(open(std::move(samples))->device_statistics().empty());
}

TEST_F(SessionDeviceTest, AValueThatNeverArrivesEndsTheRecording) {
  SessionOptions options = borrowing();
  options.wait = [](void*) { return 1; };
  LateFloats lost({2, 3}, 7);
  auto session = open(make_plan(plan::Content::both), options);
  run(*session, define(*session, "Default/Add-op0"), {}, {lost.operand(0)});
  const auto closed = session->close();
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().message().find("the device did not deliver a tensor"), std::string::npos);
}

}  // namespace
}  // namespace opdump::capture
