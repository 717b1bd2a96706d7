#include "capture/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "base/file/file.h"
#include "base/text/text.h"
#include "capture/session_fixture_test.h"
#include "dump/operator_lines_test.h"
#include "math/hash.h"
#include "model/operator.h"

namespace opdump::capture {
namespace {

Operand without_data(std::uint32_t index, std::string_view reason) {
  Operand operand;
  operand.view.dtype = DType::float32;
  operand.view.shape = {2};
  operand.index = index;
  operand.undumped = reason;
  return operand;
}

std::vector<float> values_of(const fs::path& file) {
  auto stored = dump::StoredTensor::read(file);
  EXPECT_TRUE(stored) << stored.error().message();
  std::vector<float> values(stored->view().element_count());
  std::memcpy(values.data(), stored->view().data, values.size() * sizeof(float));
  return values;
}

ino_t inode(const fs::path& file) {
  struct stat info {};
  EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
  return info.st_ino;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Owners that count: retain and release are plain functions.
std::atomic<int> held{0};
void retain(void*) { ++held; }
void release(void*) { --held; }
SessionOptions borrowing() {
  SessionOptions options;
  options.retain = retain;
  options.release = release;
  return options;
}

TEST_F(SessionTest, ADumpIsReadBackAsItWas) {
  const Floats x({2, 3}, 1), y({2, 3}, 2), large({300, 300}, 3);
  auto session = open(make_plan(plan::Content::both));
  run(*session, define(*session, "Default/Add-op0"), {x.operand(0), y.operand(1)}, {large.operand(0)});
  run(*session, define(*session, "Default/Mul-op1", "Mul"), {large.operand(0), without_data(4, "sparse")},
      {});
  ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 2u);
  const dump::OperatorRun& add = set.runs()[0];
  EXPECT_EQ(add.op->name, "Default/Add-op0");
  ASSERT_EQ(add.slots.size(), 3u);
  EXPECT_EQ(values_of(add.slots[1].file), y.values);
  EXPECT_EQ(values_of(add.slots[2].file), large.values);
  EXPECT_EQ(add.slots[2].statistics.columns()[0], (std::pair<std::string, std::string>("Max Value", "3")));
  ASSERT_EQ(set.runs()[1].slots.size(), 2u);
  EXPECT_EQ(set.runs()[1].slots[1].undumped_reason, "sparse");
  EXPECT_EQ(status().state, "complete");
  EXPECT_EQ(status().row_count, 4u);
  EXPECT_EQ(status().tensor_count, 4u);
  EXPECT_EQ(status().call_count, 2u);
}

// Tensors of very different size are worked on by several threads; the rows are those of a slow program.
TEST_F(SessionTest, RowsAreInOrderOfExecution) {
  std::mt19937 random(1);
  SessionOptions options = borrowing();
  options.threads = 3;
  auto session = open(make_plan(plan::Content::statistics), options);
  std::vector<Floats> tensors;
  for (const std::int64_t count : {1, 100, 2'000, 20'000, 3'000'000}) tensors.emplace_back(Shape{count});
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "op" + std::to_string(i);
    const std::size_t in = random() % tensors.size(), out = random() % tensors.size();
    Operand operand = tensors[in].operand(0, in + 1);
    operand.owner = &tensors[in];
    run(*session, define(*session, name), {operand}, {tensors[out].operand(0)});
    for (const std::size_t t : {in, out})
      expected.push_back(name + (expected.size() % 2 ? " output " : " input ") +
                         std::to_string(tensors[t].values.size() * 4));
  }
  ASSERT_TRUE(session->close());
  EXPECT_EQ(held, 0);
  std::vector<std::string> rows;
  for (const std::string& line : lines_of(root_ / "rank_0/net/0/0/statistic.csv")) {
    const auto fields = split(line, ',');
    rows.push_back(std::string(fields[1]) + " " + std::string(fields[5]) + " " + std::string(fields[7]));
  }
  rows.erase(rows.begin());
  EXPECT_EQ(rows, expected);
}

TEST_F(SessionTest, StatisticsAreThoseOfTheReference) {
  plan::DumpPlan plan = make_plan(plan::Content::statistics);
  plan.statistics = {plan::Statistic::max,        plan::Statistic::min, plan::Statistic::avg,
                     plan::Statistic::l2norm,     plan::Statistic::md5, plan::Statistic::count,
                     plan::Statistic::zero_count, plan::Statistic::sha1};
  auto session = open(std::move(plan));
  std::mt19937 random(3);
  std::vector<Floats> tensors;
  for (const std::int64_t count : {7, 2'000, 9'000, 700'000}) {
    tensors.emplace_back(Shape{count});
    for (float& value : tensors.back().values) value = static_cast<float>(random() % 1000) - 500;
  }
  for (const Floats& tensor : tensors) {
    Operand reversed = tensor.operand(1);
    reversed.view.data += (tensor.values.size() - 1) * sizeof(float);
    reversed.view.strides = {-1};
    run(*session, define(*session, "op" + std::to_string(tensor.values.size())),
        {tensor.operand(0), reversed}, {});
  }
  ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto expected =
        math::finish(math::partial_stats_reference(tensors[i].operand(0).view, {true, true, true, true}));
    ASSERT_EQ(set.runs()[i].slots.size(), 2u);
    for (const dump::Slot& slot : set.runs()[i].slots) {
      const auto columns = slot.statistics.columns();
      std::map<std::string, std::string> row(columns.begin(), columns.end());
      EXPECT_EQ(row["Max Value"], format_g(expected.max));
      EXPECT_EQ(row["Min Value"], format_g(expected.min));
      EXPECT_EQ(row["Avg Value"], format_g(expected.avg));
      EXPECT_EQ(row["L2Norm Value"], format_g(expected.l2norm));
      EXPECT_EQ(row["Count"], std::to_string(expected.count));
      EXPECT_EQ(row["Zero Count"], std::to_string(expected.zero_count));
    }
    EXPECT_EQ(set.runs()[i].slots[0].statistics.columns()[4].second,
              math::md5_hex(tensors[i].operand(0).view));
    EXPECT_EQ(set.runs()[i].slots[0].statistics.columns()[7].second,
              math::sha1_hex(tensors[i].operand(0).view));
  }
}

TEST_F(SessionTest, EqualContentIsWrittenOnce) {
  Floats x({100}, 1), y({20'000}, 2);
  auto session = open(make_plan(plan::Content::tensor));
  run(*session, define(*session, "a"), {}, {x.operand(0, 1), y.operand(1, 2)});
  run(*session, define(*session, "b"), {x.operand(0, 1), y.operand(1, 2)}, {});
  x.values[0] = 5;
  run(*session, define(*session, "c"), {x.operand(0, 3), y.operand(1)}, {});
  session->set_step(1);  // a step of its own: people delete steps
  run(*session, define(*session, "b"), {x.operand(0, 3)}, {});
  ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 4u);
  const auto file = [&](int run, int slot) { return inode(set.runs()[run].slots[slot].file); };
  EXPECT_EQ(file(0, 0), file(1, 0));
  EXPECT_EQ(file(0, 1), file(1, 1));
  EXPECT_NE(file(1, 0), file(2, 0));
  EXPECT_NE(file(1, 1), file(2, 1)) << "without a number nothing is known";
  EXPECT_NE(file(2, 0), file(3, 0));
  EXPECT_EQ(values_of(set.runs()[1].slots[0].file), std::vector<float>(100, 1));
  EXPECT_EQ(values_of(set.runs()[2].slots[0].file)[0], 5);
  EXPECT_EQ(status().tensor_count, 7u);
}

TEST_F(SessionTest, StepsOperatorsAndSidesAreSelected) {
  const Floats x({4}, 1);
  for (const plan::Sides sides : {plan::Sides::both, plan::Sides::inputs, plan::Sides::outputs}) {
    plan::DumpPlan plan = make_plan(plan::Content::statistics);
    plan.sides = sides;
    plan.steps = plan::StepSet::none();
    plan.steps.add(2, 3);
    ASSERT_TRUE(plan.operators.add(plan::RuleKind::name, "wanted"));
    ASSERT_TRUE(plan.operators.add(plan::RuleKind::name, "mistyped"));
    root_ = plan.root = directory_.path() / std::to_string(static_cast<int>(sides));
    auto session = open(std::move(plan));
    for (int step = 0; step < 5; ++step) {
      EXPECT_EQ(session->set_step(step), step == 2 || step == 3);
      EXPECT_EQ(session->wants(define(*session, "wanted")).call, step == 2 || step == 3);
      EXPECT_FALSE(session->wants(define(*session, "other")).call);
      run(*session, define(*session, "wanted"), {x.operand(0)}, {x.operand(0)});
      run(*session, define(*session, "other"), {x.operand(0)}, {x.operand(0)});
    }
    ASSERT_TRUE(session->close());
    const dump::DumpSet set = read();
    ASSERT_EQ(set.runs().size(), 2u);
    EXPECT_EQ(set.runs()[0].step, 2);
    EXPECT_EQ(set.runs()[1].step, 3);
    EXPECT_EQ(set.runs()[0].slots.size(), sides == plan::Sides::both ? 2u : 1u);
    EXPECT_EQ(set.runs()[0].slots[0].side, sides == plan::Sides::outputs ? Side::output : Side::input);
    EXPECT_EQ(status().first_step, 2);
    EXPECT_EQ(status().last_step, 3);
  }
  EXPECT_EQ(log_lines("no operator matched 'mistyped'"), 3);
  EXPECT_EQ(log_lines("no operator matched 'wanted'"), 0);
}

// An engine that unhooks itself does not say what is written to.
TEST_F(SessionTest, NothingIsBorrowedInAStepThatIsNotSelected) {
  plan::DumpPlan plan = make_plan(plan::Content::both);
  plan.steps = plan::StepSet::none();
  plan.steps.add(0, 0);
  SessionOptions options;
  options.retain = [](void*) {};
  options.release = [](void*) {};
  auto session = open(std::move(plan), std::move(options));
  std::vector<Floats> tensors(64, Floats({1 << 19}, 1));
  const DefinedOperator* op = define(*session, "Default/Add-op0");
  std::vector<Operand> operands;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    operands.push_back(tensors[i].operand(i, i + 1));
    operands.back().owner = &tensors[i];
  }
  run(*session, op, {}, operands);
  EXPECT_FALSE(session->set_step(1));
  for (Floats& tensor : tensors) std::ranges::fill(tensor.values, 7.0f);
  ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 1u);
  for (const dump::Slot& slot : set.runs()[0].slots) {
    auto stored = dump::StoredTensor::read(slot.file);
    ASSERT_TRUE(stored);
    const auto* values = reinterpret_cast<const float*>(stored->view().data);
    EXPECT_EQ(std::count(values, values + (1 << 19), 1.0f), 1 << 19);
  }
}

TEST_F(SessionTest, AFailedOperatorHasNoOutputs) {
  const Floats x({4}, 1);
  auto session = open(make_plan(plan::Content::statistics));
  run(*session, define(*session, "a"), {x.operand(0)}, {x.operand(0)}, true);
  ASSERT_TRUE(session->close());
  ASSERT_EQ(read().runs().size(), 1u);
  EXPECT_EQ(read().runs()[0].slots.size(), 1u);
}

TEST_F(SessionTest, ASampleIsTheFirstElementsInOrder) {
  for (const plan::Content content : {plan::Content::both, plan::Content::tensor}) {
    Floats x({6, 5, 4});
    for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = static_cast<float>(i);
    plan::DumpPlan plan = make_plan(content);
    root_ = plan.root = directory_.path() / std::to_string(static_cast<int>(content));
    plan.sample_count = 7;
    auto session = open(std::move(plan));
    Operand transposed = x.operand(1), small = x.operand(2), wide = x.operand(3);
    transposed.view.shape = {4, 5, 6};
    transposed.view.strides = {1, 4, 20};
    small.view.shape = {7};
    small.view.strides = {2};
    wide.view.shape = {1, 2, 5, 4};  // one row of the outer dimensions is enough
    wide.view.strides = {0, 1, 4, 20};
    run(*session, define(*session, "a"), {x.operand(0), transposed, small, wide}, {});
    ASSERT_TRUE(session->close());
    const dump::DumpSet set = read();
    ASSERT_EQ(set.runs().size(), 1u);
    ASSERT_EQ(set.runs()[0].slots.size(), 4u);
    const auto values = [&](int slot) { return values_of(set.runs()[0].slots[slot].file); };
    EXPECT_THAT(values(0), ElementsAre(0, 1, 2, 3, 4, 5, 6));
    EXPECT_THAT(values(1), ElementsAre(0, 20, 40, 60, 80, 100, 4));
    EXPECT_THAT(values(2), ElementsAre(0, 2, 4, 6, 8, 10, 12));
    EXPECT_THAT(values(3), ElementsAre(0, 20, 40, 60, 4, 24, 44));
    EXPECT_EQ(model::format_shape(*set.runs()[0].slots[1].shape), "(7)");
  }
}

TEST_F(SessionTest, ChannelsLastIsKeptWhenAskedFor) {
  Floats x({1, 3, 2, 2});  // as 1 x 2 x 2 x 3 in memory
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = static_cast<float>(i);
  Operand operand = x.operand(0);
  operand.view.strides = {12, 1, 6, 3};
  for (const bool default_format : {true, false}) {
    plan::DumpPlan plan = make_plan(plan::Content::tensor);
    plan.default_format = default_format;
    auto session = open(std::move(plan));
    run(*session, define(*session, default_format ? "host" : "device"), {operand}, {});
    ASSERT_TRUE(session->close());
  }
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 2u);
  for (const dump::OperatorRun& run : set.runs()) {
    const dump::Slot& slot = run.slots.at(0);
    EXPECT_EQ(slot.format, run.name == "host" ? "DefaultFormat" : "NHWC");
    EXPECT_EQ(values_of(slot.file)[1], run.name == "host" ? 3.f : 1.f);
  }
}

TEST_F(SessionTest, ReasonsAreNotedOnce) {
  auto session = open(make_plan(plan::Content::statistics));
  const Floats empty({0}), complex({4});
  Operand null = complex.operand(3), unknown = complex.operand(4), odd = complex.operand(70),
          none = complex.operand(5);
  null.view.data = nullptr;
  unknown.view.dtype = DType::float8_e4m3;
  odd.view.dtype = DType::complex64;
  odd.view.shape = {2};
  none.view.dtype = static_cast<DType>(200);
  for (int i = 0; i < 10; ++i)
    run(*session, define(*session, "a"),
        {without_data(0, "view"), without_data(1, "sparse"), empty.operand(2), null, unknown, none, odd},
        {without_data(0, "uninitialised")});
  ASSERT_TRUE(session->close());
  dump::OperatorLines lines;
  ASSERT_TRUE(dump::read_operator_log(root_ / "rank_0", lines.taker()));
  std::vector<std::string> reasons;
  for (const dump::UndumpedSlot& slot : lines.undumped) reasons.push_back(slot.reason);
  EXPECT_THAT(reasons, ElementsAre("view", "sparse", "empty", "no data", "dtype cannot be stored",
                                   "dtype cannot be stored", "dtype has no statistics", "uninitialised"));
  EXPECT_EQ(lines.operators.size(), 1u);
  EXPECT_EQ(status().row_count, 0u);
}

TEST_F(SessionTest, AnOperatorThatRunsManyTimesLosesNothing) {
  auto session = open(make_plan(plan::Content::both));
  const DefinedOperator* op = define(*session, "a");
  EXPECT_EQ(op, define(*session, "a"));
  for (int i = 0; i < 500; ++i) {
    const Floats x({1}, static_cast<float>(i));
    run(*session, op, {x.operand(0)}, {});
  }
  ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 500u);
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(values_of(set.runs()[i].slots.at(0).file)[0], static_cast<float>(i));
}

// A disk that is full, as far as one process can have one: files may not grow beyond a limit.
TEST_F(SessionTest, AFullDiskIsSaidOnceAndCounted) {
  ::signal(SIGXFSZ, SIG_IGN);
  auto session = open(make_plan(plan::Content::both), borrowing());
  const Floats small({100}, 1), large({200'000}, 1);
  run(*session, define(*session, "a"), {small.operand(0)}, {});
  EXPECT_TRUE(session->flush());
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit full{100'000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  Operand lent = large.operand(0, 7);
  lent.owner = &held;
  int calls = 0;
  for (; calls < 30; ++calls)
    run(*session, define(*session, "b"), {small.operand(1), lent}, {small.operand(0)});
  session->report_unseen("something", "reason");
  auto flushed = session->flush();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ASSERT_FALSE(flushed);
  EXPECT_THAT(flushed.error().message(), HasSubstr("b.0.0."));
  auto closed = session->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code(), Code::io);
  EXPECT_EQ(held, 0);
  EXPECT_EQ(log_lines("recording stopped: "), 1);
  EXPECT_EQ(status().state, "incomplete");
  ASSERT_EQ(status().losses.size(), 2u);
  const dump::RecordingStatus ended = status();
  const dump::Loss& stopped = ended.losses[ended.losses[0].what == "something" ? 1 : 0];
  EXPECT_THAT(stopped.first, HasSubstr("b, step 0"));
  EXPECT_GE(stopped.count, 2u);
  EXPECT_EQ(ended.tensor_count + stopped.count, 1 + 3 * ended.call_count - 3);
}

TEST_F(SessionTest, AnotherDeviceDumpsNothing) {
  plan::DumpPlan plan = make_plan(plan::Content::both);
  plan.devices = {1, 2};
  auto session = open(std::move(plan));
  const Floats x({4}, 1);
  EXPECT_FALSE(session->selects_step(0));
  run(*session, define(*session, "a"), {x.operand(0)}, {});
  session->report_unseen("something", "reason");
  ASSERT_TRUE(session->close());
  EXPECT_EQ(log_lines("device 0 is not in support_device"), 1);
  EXPECT_EQ(status().state, "complete");
  EXPECT_FALSE(fs::exists(root_ / "rank_0/net"));
}

TEST_F(SessionTest, WhatIsUnseenIsSaidOnce) {
  auto session = open(make_plan(plan::Content::statistics));
  for (int i = 0; i < 3; ++i) session->report_unseen("a compiled graph", "it has no operators");
  session->report_unseen("another", "it has no operators");
  EXPECT_TRUE(session->close());
  EXPECT_EQ(log_lines("a compiled graph is not recorded"), 1);
  EXPECT_EQ(status().state, "incomplete");
  ASSERT_EQ(status().losses.size(), 2u);
  EXPECT_EQ(status().losses[0].count, 3u);
}

TEST_F(SessionTest, SeveralSessionsAtOnce) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    SessionOptions options;
    options.rank = rank;
    sessions.push_back(open(make_plan(plan::Content::both), options));
  }
  for (int i = 0; i < 10; ++i)
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const Floats x({4}, static_cast<float>(rank));
      run(*sessions[rank], define(*sessions[rank], "a"), {x.operand(0)}, {});
    }
  for (auto& session : sessions) ASSERT_TRUE(session->close());
  const dump::DumpSet set = read();
  EXPECT_EQ(set.runs().size(), 30u);
  EXPECT_EQ(set.statuses().size(), 3u);
  for (const dump::OperatorRun& run : set.runs())
    EXPECT_EQ(values_of(run.slots.at(0).file)[0], static_cast<float>(run.rank));
}

TEST_F(SessionTest, HostModesHaveTheirFiles) {
  plan::DumpPlan plan = make_plan(plan::Content::tensor);
  plan.run_metadata = plan.class_name_dtypes = plan.parameters = plan.input_parameters = true;
  plan.config_text = "{ \"a\": 1 }\n";
  const std::string config = plan.config_text;
  auto session = open(std::move(plan));
  const Floats x({4}, 1);
  run(*session, define(*session, "a"), {x.operand(0)}, {});
  ASSERT_TRUE(session->close());
  const fs::path metadata = root_ / "rank_0/.dump_metadata";
  EXPECT_EQ(*read_file(metadata / "data_dump.json", 1000), config);
  EXPECT_EQ(*read_file(metadata / "config.json", 1000), R"({"device_target":"CPU","ms_version":"2.5.0"})");
  EXPECT_THAT(fs::path((*read().runs().begin()).slots.at(0).file).filename().string(),
              HasSubstr(".Float32.npy"));
  fs::permissions(metadata / "config.json", fs::perms::owner_all);
  std::ofstream(metadata / "config.json") << "mine";
  plan = make_plan(plan::Content::tensor);
  plan.run_metadata = true;
  ASSERT_TRUE(open(std::move(plan))->close());
  EXPECT_EQ(*read_file(metadata / "config.json", 1000), "mine");
}

TEST_F(SessionTest, ThreadsRecordTogether) {
  SessionOptions options = borrowing();
  options.threads = 2;
  options.memory_limit_bytes = 2 << 20;
  auto session = open(make_plan(plan::Content::both), options);
  const Floats shared({30'000}, -1);
  std::atomic<bool> finished{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Floats own({t % 2 ? 20'000 : 500});
      std::uint64_t content = 1000 + static_cast<std::uint64_t>(t);
      for (int i = 0; i < 60; ++i, content += 10) {
        const DefinedOperator* op = define(*session, "op" + std::to_string(t));
        Operand in = shared.operand(0, 1), out = own.operand(0, content);
        in.owner = out.owner = &held;
        const Operand inputs[] = {in, without_data(1, "view")};
        Call* call = session->begin(op, inputs);
        session->before_write(content - 10);
        std::ranges::fill(own.values, static_cast<float>(i));
        session->end(call, std::span(&out, 1), false);
      }
      session->before_write(content - 10);
    });
  std::thread flusher([&] {
    while (!finished) {
      EXPECT_TRUE(session->flush());
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  });
  for (std::thread& thread : threads) thread.join();
  finished = true;
  flusher.join();
  ASSERT_TRUE(session->close());
  EXPECT_EQ(held, 0);
  const dump::DumpSet set = read();
  ASSERT_EQ(set.runs().size(), 240u);
  std::map<std::string, int> seen;
  for (const dump::OperatorRun& run : set.runs()) {
    const auto value = static_cast<float>(seen[run.name]++);
    for (const dump::Slot& slot : run.slots) {
      if (!slot.undumped_reason.empty()) continue;
      const float expected = slot.side == Side::input ? -1 : value;
      EXPECT_EQ(slot.statistics.columns()[0].second, format_g(expected));
      for (const float found : values_of(slot.file)) ASSERT_EQ(found, expected) << run.name;
    }
  }
}

TEST_F(SessionTest, WhatRanAfterTheLastStep) {
  auto session = open(make_plan(plan::Content::tensor));
  const Floats x({4});
  for (const std::int64_t step : {0, 1, 2}) {
    session->set_step(step);
    run(*session, define(*session, "op"), {x.operand(0)}, {x.operand(0)});
  }
  session->mark_step(Session::StepEnd::tail);
  ASSERT_TRUE(session->close());
  EXPECT_EQ(status().last_step, 1);
  EXPECT_EQ(status().tail_step, 2);
  EXPECT_EQ(status().cut_step, -1);
  EXPECT_FALSE(status().lacks_tail);
}

TEST_F(SessionTest, WhatRanAfterTheLastStepMayBeLeftOut) {
  for (const auto end : {Session::StepEnd::whole, Session::StepEnd::tail}) {
    plan::DumpPlan plan = make_plan(plan::Content::tensor);
    plan.steps = plan::StepSet::none();
    plan.steps.add(0, 0);
    auto session = open(std::move(plan));
    const Floats x({4});
    for (const std::int64_t step : {0, 1}) {
      session->set_step(step);
      run(*session, define(*session, "op"), {x.operand(0)}, {x.operand(0)});
    }
    session->mark_step(end);
    ASSERT_TRUE(session->close());
    EXPECT_EQ(status().lacks_tail, end == Session::StepEnd::tail);
    session.reset();
    fs::remove_all(root_);
  }
}

TEST_F(SessionTest, StepsThatDidNotComeAreNamed) {
  for (const auto end : {Session::StepEnd::whole, Session::StepEnd::tail}) {
    plan::DumpPlan plan = make_plan(plan::Content::tensor);
    plan.steps = plan::StepSet::none();
    for (const std::uint64_t step : {0, 2, 9}) plan.steps.add(step, step);
    auto session = open(std::move(plan));
    const Floats x({4});
    for (const std::int64_t step : {0, 1, 2}) {
      session->set_step(step);
      run(*session, define(*session, "op"), {x.operand(0)}, {x.operand(0)});
    }
    session->mark_step(end);
    ASSERT_TRUE(session->close());
    EXPECT_EQ(log_.back(), end == Session::StepEnd::whole
                               ? "step 9 did not come: the program ended after step 2"
                               : "steps 2,9 did not come: the program ended after step 1");
    session.reset();
    fs::remove_all(root_);
  }
}

TEST_F(SessionTest, AStepUnderWayWithoutOperatorsIsNeitherTailNorCut) {
  for (const auto end : {Session::StepEnd::tail, Session::StepEnd::cut}) {
    auto session = open(make_plan(plan::Content::tensor));
    const Floats x({4});
    run(*session, define(*session, "op"), {x.operand(0)}, {x.operand(0)});
    session->set_step(1);
    session->mark_step(end);
    ASSERT_TRUE(session->close());
    EXPECT_EQ(status().last_step, 0);
    EXPECT_EQ(status().tail_step, -1);
    EXPECT_EQ(status().cut_step, -1);
    session.reset();
    fs::remove_all(root_);
  }
}

TEST_F(SessionTest, WhoWaitsHasEverythingOnDisk) {
  auto session = open(make_plan(plan::Content::tensor));
  const Floats x({4});
  run(*session, define(*session, "op"), {x.operand(0)}, {x.operand(0)});
  ASSERT_TRUE(session->rest());
  EXPECT_EQ(dump::read_status_file(root_ / "rank_0/opdump_status.json")->state, "idle");
  EXPECT_EQ(status().state, "complete") << "nothing is missing if it ends now";
  EXPECT_EQ(status().tensor_count, 2u);
  EXPECT_EQ(read().runs().size(), 1u);
  run(*session, define(*session, "op"), {x.operand(0)}, {x.operand(0)});
  EXPECT_EQ(status().state, "recording") << "something is under way again";
  ASSERT_TRUE(session->close());
  EXPECT_EQ(status().state, "complete");
}

}  // namespace
}  // namespace opdump::capture
