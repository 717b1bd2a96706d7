#include "capture/jobs/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "capture/jobs/reuse_table.h"
#include "model/operator.h"

namespace opdump::capture {
namespace {

using model::DType;
using model::TensorView;

// Keeps what it is given instead of writing files.
class MemoryScheme final : public dump::SchemeWriter {
 public:
  Result<std::filesystem::path> write_tensor(const dump::SlotAddress& address,
                                             const TensorView& view) override {
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    if (failing) return Error(Code::io, "disk full");
    if (throwing) std::vector<int>().at(1);
    std::vector<float> values(view.element_count());
    std::memcpy(values.data(), view.data, view.byte_count());
    const std::lock_guard lock(mutex_);
    written_[address.timestamp_us] = std::move(values);
    return std::filesystem::path(std::to_string(address.timestamp_us));
  }
  Result<> link_tensor(const dump::SlotAddress&, DType, const model::Shape&,
                       const std::filesystem::path&) override {
    return ok();
  }
  Result<> write_statistics(const dump::SlotAddress&, const dump::StatisticRow&) override { return ok(); }
  Result<> move_step(std::int64_t, std::int64_t, std::int64_t) override { return ok(); }
  Result<> flush() override { return ok(); }

  std::map<std::uint64_t, std::vector<float>> written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }

  std::chrono::microseconds delay{0};
  bool failing = false, throwing = false;

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<float>> written_;
};

constexpr JobNeeds kSquares{.statistics = {.extremes = true, .squares = true}};
constexpr JobNeeds kFile{.file = true};
constexpr JobNeeds kBoth{.statistics = {.extremes = true}, .file = true};

// Memory that somebody lends, and counts how often it came back.
struct Lent {
  explicit Lent(std::size_t count, float value = 0) : values(count, value) {}
  KeepAlive keep_alive() {
    ++lent;
    return KeepAlive(this, [](void* owner) { ++static_cast<Lent*>(owner)->returned; });
  }
  TensorView view() const {
    return TensorView::row_major(DType::float32, {static_cast<std::int64_t>(values.size())}, values.data());
  }
  std::vector<float> values;
  std::atomic<int> lent{0}, returned{0};
};

std::shared_ptr<Job> make_job(const Lent& memory, JobNeeds needs, dump::SchemeWriter& scheme,
                              std::uint64_t number = 1) {
  return std::make_shared<Job>(memory.view(), needs, dump::SlotAddress{.timestamp_us = number}, &scheme);
}

void ignore() {}

TEST(KeepAlive, ReleasesOnceHoweverItMoves) {
  Lent memory(1);
  {
    KeepAlive first = memory.keep_alive();
    KeepAlive second = std::move(first);
    KeepAlive third;
    third = std::move(second);
    EXPECT_EQ(memory.returned, 0);
    third = {};
    EXPECT_EQ(memory.returned, 1);
  }
  EXPECT_EQ(memory.returned, 1);
}

TEST(Job, ResultsAreThoseOfTheWholeTensor) {
  MemoryScheme scheme;
  Lent memory(5 << 20, 2);  // several pieces
  memory.values[17] = -3;
  memory.values.back() = 9;
  Pipeline pipeline(2, 1 << 30, ignore);
  const auto job =
      make_job(memory, {.statistics = {true, true, true, true}, .md5 = true, .file = true}, scheme);
  pipeline.run_now(job);
  ASSERT_TRUE(job->is_done());
  const auto expected = math::finish(math::partial_stats_reference(memory.view(), {true, true, true, true}));
  EXPECT_EQ(job->statistics().max, 9);
  EXPECT_EQ(job->statistics().min, -3);
  EXPECT_EQ(job->statistics().negative_count, 1u);
  EXPECT_NEAR(job->statistics().l2norm, expected.l2norm, 1e-9 * expected.l2norm);
  EXPECT_EQ(job->md5().size(), 32u);
  EXPECT_EQ(scheme.written()[1], memory.values);
}

TEST(Job, ErrorsAreKept) {
  Lent memory(10);
  Pipeline pipeline(0, 1 << 30, ignore);
  MemoryScheme full;
  full.failing = true;
  auto job = make_job(memory, kBoth, full);
  pipeline.run_now(job);
  ASSERT_TRUE(job->error());
  EXPECT_EQ(job->error()->message(), "disk full");
  MemoryScheme exhausted;
  exhausted.throwing = true;
  job = make_job(memory, kBoth, exhausted);
  pipeline.run_now(job);
  ASSERT_TRUE(job->error());
  EXPECT_EQ(job->error()->code(), Code::internal);
}

TEST(Pipeline, WorksWithoutThreads) {
  MemoryScheme scheme;
  Lent memory(100'000, 3);
  Pipeline pipeline(0, 1 << 20, ignore);
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(make_job(memory, kSquares, scheme));
    pipeline.submit_borrowed(jobs.back(), memory.keep_alive(), 5);
  }
  EXPECT_LE(pipeline.peak_held_bytes(), std::uint64_t{1} << 20);
  EXPECT_FALSE(jobs.back()->is_done());
  pipeline.wait_all();
  for (const auto& job : jobs) EXPECT_EQ(job->statistics().max, 3);
  EXPECT_EQ(memory.returned, 20);
}

TEST(Pipeline, AJobWithNothingToDoIsDone) {
  MemoryScheme scheme;
  Lent memory(10);
  Pipeline pipeline(1, 1 << 20, ignore);
  pipeline.run_now(make_job(memory, {}, scheme));
  pipeline.submit_borrowed(make_job(memory, {}, scheme), memory.keep_alive(), 3);
  pipeline.before_write(3);
  pipeline.wait_all();
}

TEST(Pipeline, ATensorLargerThanTheLimitPassesAlone) {
  MemoryScheme scheme;
  Lent large(1 << 20, 1), small(100, 1);
  Pipeline pipeline(1, 1000, ignore);
  for (int i = 0; i < 5; ++i) {
    pipeline.submit_copied(make_job(large, kFile, scheme, 1));
    pipeline.submit_borrowed(make_job(small, kFile, scheme, 2), small.keep_alive(), 0);
  }
  pipeline.wait_all();
  EXPECT_EQ(scheme.written().size(), 2u);
  EXPECT_EQ(pipeline.peak_held_bytes(), large.values.size() * sizeof(float));
}

TEST(Pipeline, ManySubmittersStayBelowTheLimit) {
  constexpr std::uint64_t kLimit = 400'000;
  MemoryScheme scheme;
  scheme.delay = std::chrono::microseconds(100);
  Pipeline pipeline(2, kLimit, ignore);
  std::vector<std::thread> submitters;
  for (unsigned t = 0; t < 4; ++t)
    submitters.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 50; ++i) {
        Lent memory(1 + random() % 25'000, static_cast<float>(t));
        pipeline.submit_copied(make_job(memory, kFile, scheme, t * 100 + static_cast<unsigned>(i)));
      }
    });
  for (std::thread& thread : submitters) thread.join();
  pipeline.wait_all();
  EXPECT_EQ(scheme.written().size(), 200u);
  for (const auto& [number, values] : scheme.written())
    for (const float value : values) ASSERT_EQ(value, static_cast<float>(number / 100));
  EXPECT_LE(pipeline.peak_held_bytes(), kLimit);
  EXPECT_GT(pipeline.peak_held_bytes(), 100'000u);
}

TEST(Pipeline, DestructionFinishesWhatIsPending) {
  MemoryScheme scheme;
  scheme.delay = std::chrono::milliseconds(2);
  Lent memory(1000, 4);
  {
    Pipeline pipeline(2, 1 << 30, ignore);
    for (unsigned i = 0; i < 30; ++i)
      pipeline.submit_borrowed(make_job(memory, kFile, scheme, i), memory.keep_alive(), 0);
  }
  EXPECT_EQ(scheme.written().size(), 30u);
  EXPECT_EQ(memory.returned, 30);
}

TEST(Pipeline, BeforeWriteGivesAnUntouchedFileJobACopy) {
  MemoryScheme scheme;
  Lent memory(1000, 1);
  Pipeline pipeline(0, 1 << 30, ignore);
  pipeline.submit_borrowed(make_job(memory, kBoth, scheme), memory.keep_alive(), 7);
  pipeline.before_write(8);
  EXPECT_EQ(memory.returned, 0);
  pipeline.before_write(7);
  EXPECT_EQ(memory.returned, 1);
  EXPECT_TRUE(scheme.written().empty());  // not done, but safe
  std::ranges::fill(memory.values, 2.0f);
  pipeline.wait_all();
  EXPECT_EQ(scheme.written()[1], std::vector<float>(1000, 1));
}

TEST(Pipeline, BeforeWriteRunsOthersAtOnce) {
  MemoryScheme scheme;
  Lent memory(3 << 20, 1);
  Pipeline pipeline(0, 1 << 30, ignore);
  const auto job = make_job(memory, kSquares, scheme);
  pipeline.submit_borrowed(job, memory.keep_alive(), 7);
  pipeline.before_write(7);
  EXPECT_TRUE(job->is_done());
  EXPECT_EQ(memory.returned, 1);
  EXPECT_EQ(job->statistics().max, 1);
}

// Two threads may ask for the same block: both must wait until nobody reads it.
TEST(Pipeline, EveryWriterWaits) {
  MemoryScheme scheme;
  for (int round = 0; round < 200; ++round) {
    Lent memory(20'000, 1);
    Pipeline pipeline(1, 1 << 30, ignore);
    for (unsigned i = 0; i < 4; ++i)
      pipeline.submit_borrowed(make_job(memory, i % 2 ? kFile : kSquares, scheme, i), memory.keep_alive(), 7);
    const auto write = [&](std::size_t from) {
      pipeline.before_write(7);
      EXPECT_EQ(memory.returned, 4);
      for (std::size_t i = from; i < memory.values.size(); i += 2) memory.values[i] = 2;
    };
    std::thread other(write, 0);
    write(1);
    other.join();
    pipeline.wait_all();
    ASSERT_EQ(scheme.written()[1], std::vector<float>(20'000, 1));
  }
}

// Threads lend blocks of their own, ask before they write, and write: nothing that was lent may be seen
// changed.
TEST(Pipeline, NoLaterWriteIsSeen) {
  MemoryScheme scheme;
  struct Recorded {
    std::shared_ptr<Job> job;
    std::uint64_t number;
    float value;
    bool file;
  };
  std::vector<Recorded> all[4];
  {
    Pipeline pipeline(2, 1 << 20, ignore);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        Lent blocks[3]{Lent(10'000), Lent(30'000), Lent(100)};
        std::uint64_t contents[3]{t * 1'000'000 + 1, t * 1'000'000 + 2, t * 1'000'000 + 3},
            next = t * 1'000'000 + 4;
        for (unsigned i = 0; i < 300; ++i) {
          const std::size_t b = random() % 3;
          if (random() % 2) {
            pipeline.before_write(contents[b]);
            EXPECT_EQ(blocks[b].lent, blocks[b].returned);
            std::ranges::fill(blocks[b].values, static_cast<float>(i));
            contents[b] = next++;
          }
          const JobNeeds needs[] = {kSquares, kFile, kBoth};
          const JobNeeds need = needs[random() % 3];
          const std::uint64_t number = t * 1000 + i;
          all[t].push_back(
              {make_job(blocks[b], need, scheme, number), number, blocks[b].values[0], need.file});
          if (random() % 8 == 0)
            pipeline.submit_copied(all[t].back().job);
          else
            pipeline.submit_borrowed(all[t].back().job, blocks[b].keep_alive(), contents[b]);
        }
        for (std::size_t b = 0; b < 3; ++b) pipeline.before_write(contents[b]);
        for (const Lent& block : blocks) EXPECT_EQ(block.lent, block.returned);
      });
    for (std::thread& thread : threads) thread.join();
  }
  const auto written = scheme.written();
  for (const auto& recorded_by_thread : all)
    for (const Recorded& recorded : recorded_by_thread) {
      ASSERT_TRUE(recorded.job->is_done());
      if (recorded.file)
        for (const float value : written.at(recorded.number)) ASSERT_EQ(value, recorded.value);
      else
        ASSERT_EQ(recorded.job->statistics().max, recorded.value);
    }
}

// Holds the memory of a call until it is known whether it is wanted.
TEST(Pipeline, WhatIsHeldIsWrittenOrForgotten) {
  MemoryScheme scheme;
  Lent kept(1000, 1), dropped(1000, 2), unlent(1000, 3);
  Pipeline pipeline(0, 1 << 30, ignore);
  const auto keep = make_job(kept, kFile, scheme, 1), drop = make_job(dropped, kFile, scheme, 2),
             copy = make_job(unlent, kFile, scheme, 3);
  pipeline.hold(keep, kept.keep_alive(), 7);
  pipeline.hold(drop, dropped.keep_alive(), 8);
  pipeline.hold(copy, KeepAlive(), 0);
  unlent.values.assign(1000, -1);  // it was copied
  pipeline.wait_all();
  EXPECT_FALSE(keep->is_done()) << "nobody has asked for it yet";
  EXPECT_EQ(pipeline.peak_held_bytes(), 12000u);
  pipeline.drop_held(drop);
  EXPECT_EQ(dropped.returned, 1);
  pipeline.submit_held(keep);
  pipeline.submit_held(copy);
  pipeline.wait_all();
  EXPECT_EQ(kept.returned, 1);
  EXPECT_EQ(scheme.written(), (std::map<std::uint64_t, std::vector<float>>{
                                  {1, std::vector<float>(1000, 1)}, {3, std::vector<float>(1000, 3)}}));
  pipeline.before_write(8);  // there is nothing left to wait for
  pipeline.before_any_write();
}

TEST(Pipeline, AWriteWhileMemoryIsHeldGetsTheOldBytesCopied) {
  for (const unsigned threads : {0u, 2u}) {
    MemoryScheme scheme;
    Lent memory(5000, 1);
    Pipeline pipeline(threads, 1 << 30, ignore);
    const auto job = make_job(memory, kBoth, scheme), gone = make_job(memory, kBoth, scheme, 2);
    pipeline.hold(job, memory.keep_alive(), 7);
    pipeline.hold(gone, memory.keep_alive(), 7);
    pipeline.before_write(7);
    EXPECT_EQ(memory.returned, 2) << "the lender has it back";
    memory.values.assign(5000, 9);
    pipeline.drop_held(gone);
    pipeline.submit_held(job);
    pipeline.wait_all();
    EXPECT_EQ(scheme.written().at(1)[0], 1);
    EXPECT_EQ(job->statistics().max, 1);
    EXPECT_EQ(scheme.written().count(2), 0u);
  }
}

// Threads hold more together than the limit allows, each twice before it lets go of anything.
TEST(Pipeline, HoldersDoNotWaitForEachOther) {
  MemoryScheme scheme;
  Pipeline pipeline(1, 10'000, ignore);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        Lent first(2000, 1), second(2000, 2);
        const auto number = static_cast<std::uint64_t>(t * 1000 + i * 2);
        const auto a = make_job(first, kFile, scheme, number),
                   b = make_job(second, kFile, scheme, number + 1);
        pipeline.hold(a, first.keep_alive(), number + 1);
        pipeline.hold(b, KeepAlive(), 0);
        i % 2 ? pipeline.submit_held(a) : pipeline.drop_held(a);
        pipeline.submit_held(b);
        pipeline.wait_all();  // `first` ends here
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scheme.written().size(), 4u * 50 + 4u * 25);
}

TEST(Pipeline, IdleIsCalledAlsoWhileThereIsWork) {
  MemoryScheme scheme;
  scheme.delay = std::chrono::milliseconds(5);
  std::atomic<int> idle{0};
  Lent memory(10);
  Pipeline pipeline(1, 1 << 30, [&] { ++idle; });
  for (unsigned i = 0; i < 40; ++i)
    pipeline.submit_borrowed(make_job(memory, kFile, scheme, i), memory.keep_alive(), 0);
  while (scheme.written().size() < 30) std::this_thread::yield();
  EXPECT_GE(idle, 2);
  pipeline.wait_all();
}

TEST(ReuseTable, KnowsBytesUntilTheyAreOld) {
  MemoryScheme scheme;
  Lent memory(10);
  const auto key = [&](std::uint64_t content) { return ReuseKey::make(content, memory.view(), true); };
  const auto job = make_job(memory, kSquares, scheme);
  ReuseTable table(false);
  const auto knows = [&](const ReuseKey& wanted, std::int64_t step) {
    const auto known = table.find(wanted, step);
    return known && known->job == job;
  };
  table.add(key(1), {job}, 0);
  table.add(key(2), {job}, 0);
  EXPECT_TRUE(knows(key(1), 0));
  EXPECT_FALSE(knows(key(3), 0));
  TensorView other = memory.view();
  other.strides = {2};
  EXPECT_FALSE(knows(ReuseKey::make(1, other, true), 0));
  table.begin_step();
  EXPECT_TRUE(knows(key(1), 1));
  table.begin_step();
  EXPECT_FALSE(knows(key(2), 2)) << "not used for a whole step";
  EXPECT_TRUE(knows(key(1), 2));
}

TEST(ReuseTable, OrderMattersToFilesAndHashesOnly) {
  const std::vector<float> values(12);
  const auto rows = TensorView::row_major(DType::float32, {3, 4}, values.data());
  const auto flat = TensorView::row_major(DType::float32, {12}, values.data());
  TensorView transposed = rows;
  transposed.shape = {4, 3};
  transposed.strides = {1, 4};
  TensorView every_second = flat;
  every_second.shape = {6};
  every_second.strides = {2};
  for (const TensorView& same : {flat, transposed}) {
    EXPECT_EQ(ReuseKey::make(1, rows, false), ReuseKey::make(1, same, false));
    EXPECT_NE(ReuseKey::make(1, rows, true), ReuseKey::make(1, same, true));
  }
  EXPECT_NE(ReuseKey::make(1, rows, false), ReuseKey::make(1, every_second, false));
}

TEST(ReuseTable, SharesFilesWithinAStepAndNotTooOften) {
  MemoryScheme scheme;
  Lent memory(10);
  const auto key = ReuseKey::make(1, memory.view(), true);
  const auto job = make_job(memory, kFile, scheme);
  ReuseTable table(true);
  table.add(key, {job}, 0);
  int uses = 0;
  while (uses < 70'000 && table.find(key, 0)) ++uses;
  EXPECT_EQ(uses, 10'000);
  table.add(key, {job}, 0);
  EXPECT_TRUE(table.find(key, 0));
  table.begin_step();
  EXPECT_FALSE(table.find(key, 1));
}

TEST(ReuseTable, IsBounded) {
  MemoryScheme scheme;
  Lent memory(10);
  ReuseTable table(false);
  std::weak_ptr<Job> first;
  for (std::uint64_t content = 1; content < 100'000; ++content) {
    auto job = make_job(memory, {}, scheme);
    if (content == 1) first = job;
    table.add(ReuseKey::make(content, memory.view(), true), {std::move(job)}, 0);
  }
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace opdump::capture
