#include "capture/call_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace opdump::capture {
namespace {

std::shared_ptr<Job> make_job() {
  static const float value = 1;
  return std::make_shared<Job>(
      model::TensorView::row_major(model::DType::float32, {1}, reinterpret_cast<const std::byte*>(&value)),
      JobNeeds{.statistics = {.extremes = true}}, dump::SlotAddress{}, nullptr);
}

void finish(Job& job) {
  while (job.has_unclaimed()) job.run(job.claim());
}

TEST(CallQueueTest, CallsLeaveInOrderWhenTheirJobsAreDone) {
  CallQueue queue;
  EXPECT_FALSE(queue.pop_done());
  CallPointer first = queue.make(), second = queue.make();
  const Call* const a = first.get();
  const Call* const b = second.get();
  const auto job = make_job();
  first->slots.emplace_back().job = job;
  EXPECT_EQ(queue.push(std::move(first)), 1u);
  EXPECT_EQ(queue.push(std::move(second)), 2u);
  EXPECT_FALSE(queue.pop_done());  // the second one is done, and waits
  finish(*job);
  EXPECT_EQ(queue.pop_done().get(), a);
  EXPECT_EQ(queue.pop_done().get(), b);
  EXPECT_FALSE(queue.pop_done());
}

TEST(CallQueueTest, ACallThatComesBackIsEmptied) {
  CallQueue queue;
  CallPointer call = queue.make();
  const Call* const memory = call.get();
  call->slots.emplace_back();
  call->undumped.emplace_back();
  call->inputs.emplace_back();
  call->is_noted = call->reads_non_finite = true;
  call->overflowed = 1;
  call.reset();
  call = queue.make();
  EXPECT_EQ(call.get(), memory);
  EXPECT_TRUE(call->slots.empty() && call->undumped.empty() && call->inputs.empty());
  EXPECT_FALSE(call->is_noted || call->reads_non_finite || call->overflowed);
}

TEST(CallQueueTest, CallsThatNobodyWroteGoWithTheQueue) {
  const auto job = make_job();
  {
    CallQueue queue;
    CallPointer call = queue.make();
    call->slots.emplace_back().job = job;
    queue.push(std::move(call));
  }
  EXPECT_EQ(job.use_count(), 1);
}

TEST(CallQueueTest, ThreadsPushWhileOneWrites) {
  constexpr int kCalls = 1000;
  CallQueue queue;
  int written = 0;
  std::jthread writer([&] {
    while (written < 2 * kCalls)
      if (queue.pop_done()) ++written;
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < kCalls; ++n) queue.push(queue.make());
      });
  }
  writer.join();
  EXPECT_EQ(written, 2 * kCalls);
}

}  // namespace
}  // namespace opdump::capture
