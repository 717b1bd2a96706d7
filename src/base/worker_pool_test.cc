#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace opdump {
namespace {

TEST(WorkerPool, EveryPieceOnce) {
  for (const unsigned threads : {0u, 1u, 2u, 7u, 100u})
    for (const std::size_t count : {0u, 1u, 5u, 1000u}) {
      std::vector<std::atomic<int>> calls(count);
      parallel_for(count, threads, [&](std::size_t i) { ++calls[i]; });
      for (const auto& c : calls) EXPECT_EQ(c.load(), 1);
    }
}

TEST(WorkerPool, OneThreadIsTheCallerInOrder) {
  std::vector<std::size_t> seen;
  const auto caller = std::this_thread::get_id();
  parallel_for(4, 1, [&](std::size_t i) {
    seen.push_back(i);
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(WorkerPool, ThreadsWorkAtTheSameTime) {
  std::atomic<int> inside{0};
  // Each piece waits for the other: on one thread this would never end, so it gives up after a while.
  std::atomic<bool> met{false};
  parallel_for(2, 2, [&](std::size_t) {
    ++inside;
    for (int i = 0; i < 5000 && !met; ++i) {
      if (inside == 2) met = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_TRUE(met);
}

TEST(WorkerPool, Counts) {
  EXPECT_EQ(worker_count(3), 3u);
  EXPECT_GE(worker_count(0), 1u);
}

TEST(WorkerPool, ManySmallPiecesAreDoneSeveralAtATime) {
  EXPECT_EQ(pieces_at_once(0, 4), 1U);
  EXPECT_EQ(pieces_at_once(500, 4), 1U);
  EXPECT_EQ(pieces_at_once(2048, 4), 8U);
  EXPECT_EQ(pieces_at_once(1000000, 4), 16U);
}

}  // namespace
}  // namespace opdump
