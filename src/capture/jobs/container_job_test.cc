// Files of whole executions in the pipeline: what they are made of while others write to the memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "capture/jobs/pipeline.h"

namespace opdump::capture {
namespace {

using model::DType;
using model::TensorView;
using ::testing::ElementsAre;

// Keeps what containers are made of.
class ContainerScheme final : public dump::SchemeWriter {
 public:
  Result<std::filesystem::path> write_tensor(const dump::SlotAddress&, const TensorView&) override {
    return Error(Code::internal, "no file of a single tensor");
  }
  Result<> link_tensor(const dump::SlotAddress&, DType, const model::Shape&,
                       const std::filesystem::path&) override {
    return ok();
  }
  Result<> write_statistics(const dump::SlotAddress&, const dump::StatisticRow&) override { return ok(); }
  Result<> move_step(std::int64_t, std::int64_t, std::int64_t) override { return ok(); }
  Result<> flush() override { return ok(); }
  bool writes_calls() const override { return true; }

  Result<std::filesystem::path> write_call(std::span<const Member> members) override {
    begun = true;
    while (waits) std::this_thread::yield();
    if (failing) return Error(Code::io, "disk full");
    const std::lock_guard lock(mutex_);
    for (const Member& member : members) {
      float first = 0;
      std::memcpy(&first, member.view.data, sizeof first);
      written.push_back(first);
      order.push_back(member.address.index);
    }
    return std::filesystem::path("container");
  }

  std::atomic<bool> begun{false}, waits{false};
  bool failing = false;
  std::vector<float> written;  // the first element of each tensor
  std::vector<std::uint32_t> order;

 private:
  std::mutex mutex_;  // guards the two: several executions are written at once
};

// Memory of 1000 floats that is lent as content 1, 2, ...
struct LentValues {
  explicit LentValues(float value) : values(1000, value) {}
  KeepAlive keep_alive() {
    return KeepAlive(this, [](void* owner) { ++static_cast<LentValues*>(owner)->returned; });
  }
  std::vector<float> values;
  std::atomic<int> returned{0};
};

class ContainerJobTest : public ::testing::Test {
 protected:
  // Makes a container of two tensors, held in `pipeline` as contents 1 and 2.
  std::shared_ptr<Job> make_container(Pipeline& pipeline) {
    std::vector<std::shared_ptr<Job>> members;
    for (LentValues* memory : {&first_, &second_}) {
      const auto view = TensorView::row_major(DType::float32, {1000}, memory->values.data());
      const dump::SlotAddress address{.index = static_cast<std::uint32_t>(members.size())};
      members.push_back(std::make_shared<Job>(view, JobNeeds{.file = true}, address, &scheme_));
      pipeline.hold(members.back(), memory->keep_alive(), members.size());
    }
    return std::make_shared<Job>(std::move(members), &scheme_);
  }

  ContainerScheme scheme_;
  LentValues first_{1}, second_{2};
};

TEST_F(ContainerJobTest, HasItsMembersInOrderAndLetsGoOfThem) {
  Pipeline pipeline(2, 1 << 20, [] {});
  const auto container = make_container(pipeline);
  EXPECT_EQ(container->data_bytes(), 8000u);
  pipeline.submit_container(container);
  pipeline.wait_all();
  EXPECT_TRUE(container->is_done());
  EXPECT_THAT(scheme_.written, ElementsAre(1, 2));
  EXPECT_THAT(scheme_.order, ElementsAre(0, 1));
  EXPECT_EQ(first_.returned, 1);
  EXPECT_EQ(second_.returned, 1);
  pipeline.before_write(1);  // nothing is pending
}

TEST_F(ContainerJobTest, AWriteBeforeItIsBegunGetsTheOldBytesCopied) {
  Pipeline pipeline(0, 1 << 20, [] {});  // nobody begins it
  const auto container = make_container(pipeline);
  pipeline.submit_container(container);
  pipeline.before_write(2);
  EXPECT_EQ(second_.returned, 1);
  EXPECT_EQ(first_.returned, 0);
  second_.values.assign(1000, 7);
  EXPECT_FALSE(container->is_done());
  pipeline.wait_all();
  EXPECT_THAT(scheme_.written, ElementsAre(1, 2));
}

TEST_F(ContainerJobTest, AWriteWhileItIsWrittenWaits) {
  scheme_.waits = true;
  Pipeline pipeline(1, 1 << 20, [] {});
  pipeline.submit_container(make_container(pipeline));
  while (!scheme_.begun) std::this_thread::yield();
  std::thread writer([&] {
    pipeline.before_write(1);
    first_.values.assign(1000, 7);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  scheme_.waits = false;
  writer.join();
  pipeline.wait_all();
  EXPECT_THAT(scheme_.written, ElementsAre(1, 2));
}

TEST_F(ContainerJobTest, AFailureIsKeptAndTheMemoryGivenBack) {
  scheme_.failing = true;
  Pipeline pipeline(0, 1 << 20, [] {});
  const auto container = make_container(pipeline);
  pipeline.submit_container(container);
  pipeline.wait_all();
  ASSERT_TRUE(container->error());
  EXPECT_EQ(container->error()->message(), "disk full");
  EXPECT_EQ(first_.returned + second_.returned, 2);
}

TEST_F(ContainerJobTest, ManyStayBelowTheLimitWhileOthersWrite) {
  Pipeline pipeline(2, 40'000, [] {});
  constexpr int kCalls = 300;
  for (int i = 0; i < kCalls; ++i) {
    pipeline.submit_container(make_container(pipeline));
    pipeline.before_write(1);
    pipeline.before_write(2);
    first_.values.assign(1000, static_cast<float>(2 * i + 3));
    second_.values.assign(1000, static_cast<float>(2 * i + 4));
  }
  pipeline.wait_all();
  EXPECT_LE(pipeline.peak_held_bytes(), 40'000u);
  EXPECT_EQ(first_.returned, kCalls);
}

}  // namespace
}  // namespace opdump::capture
