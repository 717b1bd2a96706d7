#include "dump/read/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/read/summary_test.h"

namespace opdump::dump {
namespace {

using ::testing::ElementsAre;

OperatorRun make_run(std::string name, std::uint64_t timestamp = 0) {
  OperatorRun run;
  run.name = std::move(name);
  run.type = "add";
  run.slots.resize(1);
  run.slots[0].side = model::Side::output;
  run.slots[0].file = "/dump/rank_0/net/0/0/" + run.name + ".npy";
  run.slots[0].timestamp_us = timestamp;
  return run;
}

// Every field has a value of its own.
Slot full_slot() {
  Slot slot;
  slot.side = model::Side::output;
  slot.index = 70000;
  slot.argument = "self";
  slot.timestamp_us = 1'700'000'000'000'000;
  slot.format = "FRACTAL_NZ";
  slot.dtype = model::DType::bfloat16;
  slot.file = "/elsewhere/a.npz";
  slot.part = format::Extent{300, std::uint64_t{1} << 40};
  slot.packing = Packing::deflated;
  slot.unpacked_bytes = 77;
  slot.file_bytes = 4096;
  slot.linked = {3, 4};
  slot.member = "/a/b";
  slot.stored_dtype = model::DType::float32;
  slot.shape = model::Shape{2, 0, -1, 4, 5, 6, 7, 8};
  slot.statistics = SlotStatistics(SlotStatistics::Columns{{"Max Value", "1.5"}, {"Min Value", ""}});
  slot.undumped_reason = "torn";
  return slot;
}

void expect_equal(const Slot& a, const Slot& b) {
  EXPECT_EQ(a.side, b.side);
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.argument, b.argument);
  EXPECT_EQ(a.timestamp_us, b.timestamp_us);
  EXPECT_EQ(a.format, b.format);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.file, b.file);
  ASSERT_EQ(a.part.has_value(), b.part.has_value());
  if (a.part) {
    EXPECT_EQ(a.part->offset, b.part->offset);
    EXPECT_EQ(a.part->bytes, b.part->bytes);
  }
  EXPECT_EQ(a.packing, b.packing);
  EXPECT_EQ(a.unpacked_bytes, b.unpacked_bytes);
  EXPECT_EQ(a.file_bytes, b.file_bytes);
  EXPECT_EQ(a.linked.device, b.linked.device);
  EXPECT_EQ(a.linked.inode, b.linked.inode);
  EXPECT_EQ(a.member, b.member);
  EXPECT_EQ(a.stored_dtype, b.stored_dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.statistics.columns(), b.statistics.columns());
  EXPECT_EQ(a.undumped_reason, b.undumped_reason);
}

TEST(Runs, GiveBackWhatTheyWereGiven) {
  OperatorRun run;
  run.type = "convolution";
  run.name = "Default_conv-op0";
  run.task = UINT64_MAX;
  run.stream = -7;
  run.slots = {Slot(), full_slot(), make_run("x").slots[0]};
  run.slots[0].format = "DefaultFormat";
  Runs runs;
  const std::uint32_t section = runs.add_section({3, 4, 5}, "net");
  add_run(runs, section, run, "/dump/rank_0/net/0/0");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].name, "Default_conv-op0");
  runs.show_model(section);
  const OperatorRun got = runs[0];
  EXPECT_EQ(got.rank, 3u);
  EXPECT_EQ(got.graph_id, 4);
  EXPECT_EQ(got.step, 5);
  EXPECT_EQ(got.type, run.type);
  EXPECT_EQ(got.name, "net/Default_conv-op0");
  EXPECT_EQ(got.op, nullptr);
  EXPECT_EQ(got.task, UINT64_MAX);
  EXPECT_EQ(got.stream, -7);
  ASSERT_EQ(got.slots.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) expect_equal(got.slots[i], run.slots[i]);
  EXPECT_EQ(runs.without_slots(0).name, got.name);
  EXPECT_EQ(runs.stored_bytes(), std::uint64_t{1} << 40);
}

// They know also those that do not lie right in the directory of the others.
TEST(Runs, KnowTheirFiles) {
  for (const std::string file : {"/d/a.npy", "/d", "/d/", "/db/a.npy", "/d/e/a.npy", "a.npy", "//d/a.npy"}) {
    OperatorRun run = make_run("x");
    run.slots[0].file = file;
    Runs runs;
    add_run(runs, runs.add_section({0, 0, 0}), run, "/d");
    add_run(runs, runs.add_section({0, 0, 0}), run);
    EXPECT_EQ(runs[0].slots[0].file, file);
    EXPECT_EQ(runs[1].slots[0].file, file);
  }
}

TEST(Runs, AreInOrderOfStepsAndTime) {
  Runs runs;
  const std::uint32_t late = runs.add_section({0, 0, 1}), early = runs.add_section({0, 1, 0}),
                      earlier = runs.add_section({0, 0, 0});
  add_run(runs, late, make_run("e", 1));
  add_run(runs, early, make_run("d", 1));
  add_run(runs, earlier, make_run("c"));  // at no known time
  add_run(runs, earlier, make_run("b", 9));
  add_run(runs, earlier, make_run("a", 8));
  runs.sort();
  std::vector<std::string> names;
  for (const OperatorRun& run : runs) names.push_back(run.name);
  EXPECT_THAT(names, ElementsAre("d", "a", "b", "c", "e"));
}

TEST(Runs, WorkersOfALoaderAreInTheirOrder) {
  Runs runs;
  const std::uint32_t first = runs.add_section({0, 0, 0}), next = runs.add_section({0, 0, 1});
  const auto add = [&](std::uint32_t section, const std::string& name, std::uint64_t time) {
    add_run(runs, section, make_run(name, time));
    runs.set_operator(runs.size() - 1,
                      runs.add_operator(model::Operator{.type = {}, .name = name, .source_file = {}}));
  };
  add(first, "Default/randn", 1);
  add(first, "Default/worker1/std", 2);
  add(first, "Default/worker1/sub", 3);
  add(first, "Default/mm", 4);
  add(first, "Default/worker0/std", 5);
  add(next, "Default/worker1/std", 6);
  add(next, "Default/worker0/std", 7);
  runs.sort();
  std::vector<std::string> names;
  for (const OperatorRun& run : runs) names.push_back(run.name);
  EXPECT_THAT(names, ElementsAre("Default/randn", "Default/worker0/std", "Default/worker1/std", "Default/mm",
                                 "Default/worker1/sub", "Default/worker0/std", "Default/worker1/std"));
}

// A loop of MindSpore: graph 7 is its body, graph 3 its condition; weights are written when the step is over.
TEST(Runs, GraphsOfAStepAreInTheOrderInWhichTheyRan) {
  Runs runs;
  const std::uint32_t first = runs.add_section({0, 0, 0}), condition = runs.add_section({0, 3, 0}),
                      body = runs.add_section({0, 7, 0}), next = runs.add_section({0, 0, 1});
  add_run(runs, body, make_run("add", 30));
  add_run(runs, body, make_run("add", 50));
  add_run(runs, condition, make_run("less", 20));
  add_run(runs, condition, make_run("less", 40));
  add_run(runs, first, make_run("weight", 90));
  add_run(runs, first, make_run("matmul", 10));
  add_run(runs, next, make_run("matmul", 5));
  runs.sort();
  std::vector<std::string> names;
  for (const OperatorRun& run : runs) names.push_back(run.name + "/" + std::to_string(run.graph_id));
  EXPECT_THAT(names, ElementsAre("matmul/0", "less/3", "add/7", "less/3", "add/7", "weight/0", "matmul/0"));
}

TEST(Runs, WithoutTimeGraphsAreAsInTheLog) {
  Runs runs;
  const std::uint32_t zero = runs.add_section({0, 0, 0}), one = runs.add_section({0, 1, 0});
  add_run(runs, zero, make_run("second"));
  add_run(runs, one, make_run("first"));
  runs.sort();
  EXPECT_EQ(runs[0].name, "second");  // nothing says otherwise
  const std::uint32_t first =
      runs.add_operator(model::Operator{.type = {}, .name = "first", .source_file = {}});
  const std::uint32_t second =
      runs.add_operator(model::Operator{.type = {}, .name = "second", .source_file = {}});
  runs.set_operator(0, second);
  runs.set_operator(1, first);
  runs.sort();
  EXPECT_EQ(runs[0].op->name, "first");
}

TEST(Runs, OfOneMomentAreAsInTheLog) {
  const model::Operator first{.type = {}, .name = "first", .source_file = {}},
      second{.type = {}, .name = "second", .source_file = {}},
      third{.type = {}, .name = "third", .source_file = {}};
  Runs runs;
  const std::uint32_t section = runs.add_section({0, 0, 0});
  const std::uint32_t numbers[] = {runs.add_operator(first), runs.add_operator(second),
                                   runs.add_operator(third)};
  add_run(runs, section, make_run("third", 5));
  add_run(runs, section, make_run("second"));  // without data: before what follows in the log
  add_run(runs, section, make_run("first", 5));
  for (std::size_t i = 0; i < 3; ++i) runs.set_operator(i, numbers[2 - i]);
  EXPECT_TRUE(runs.have_operators());
  runs.sort();
  EXPECT_EQ(runs[0].op->name, "first");
  EXPECT_EQ(runs[1].op->name, "second");
  EXPECT_EQ(runs[2].name, "third");
}

// A view of a step in which the program takes another way: the log names it after what other steps have.
TEST(Runs, WhatHasNoTimeStandsBeforeItsReader) {
  Runs runs;
  const std::uint32_t first = runs.add_section({0, 0, 0}), second = runs.add_section({0, 0, 1});
  const auto add_operator = [&](std::string name) {
    return runs.add_operator(model::Operator{.type = {}, .name = std::move(name), .source_file = {}});
  };
  const std::uint32_t bmm = add_operator("bmm"), mm = add_operator("mm"), view = add_operator("view");
  const auto add = [&](std::uint32_t section, std::string name, std::uint64_t time, std::uint32_t number) {
    add_run(runs, section, make_run(std::move(name), time));
    runs.set_operator(runs.size() - 1, number);
  };
  add(first, "bmm", 1, bmm);
  add(first, "mm", 2, mm);
  add(second, "bmm", 3, bmm);
  add(second, "view", 0, view);
  add(second, "mm", 4, mm);
  for (const auto& [step, number] :
       {std::pair(0, bmm), std::pair(0, mm), std::pair(1, view), std::pair(1, mm)})
    runs.add_wiring(
        number,
        LoggedWiring{.operator_name = {}, .step = step, .wiring = {{{.index = 0, .is_outside = true}}}});
  runs.sort();
  std::vector<std::string> names;
  for (const OperatorRun& run : runs) names.push_back(run.name);
  EXPECT_THAT(names, ElementsAre("bmm", "mm", "bmm", "view", "mm"));
}

// The last line of the latest step that is not after a step counts, in whatever order the lines come.
TEST(Runs, KnowWhoMadeWhatTheyRead) {
  Runs runs;
  const auto number = [&](std::string name) {
    return runs.add_operator(model::Operator{.type = {}, .name = std::move(name), .source_file = {}});
  };
  const std::uint32_t relu = number("relu"), add = number("add");
  for (std::int64_t step = 0; step < 5; ++step) {
    add_run(runs, runs.add_section({0, 0, step}), make_run("add", 1));
    runs.set_operator(runs.size() - 1, step == 4 ? relu : add);
  }
  const auto line = [](std::int64_t step, std::vector<CallWiring::Input> inputs) {
    return LoggedWiring{.operator_name = {}, .step = step, .wiring = {std::move(inputs)}};
  };
  const CallWiring::Maker by_relu{.name = "relu", .number = relu},
      by_other{.name = "other", .output = 300, .steps_before = 2};
  const std::vector<CallWiring::Input> full{
      {.index = 0, .maker = by_relu},
      {.index = 2, .is_outside = true},
      {.index = 300,
       .maker = by_other,
       .is_overwritten = true,
       .is_view = true,
       .view = CallWiring::View{70000, {1, -1, 0}}},
      {.index = 301, .is_view = true, .changed_by = {by_other, by_relu}}};
  runs.add_wiring(add, line(3, {{.index = 7, .is_outside = true}}));
  runs.add_wiring(add, line(1, {{.index = 5, .is_outside = true}}));
  runs.add_wiring(add, line(1, full));
  EXPECT_TRUE(runs.have_wirings());
  EXPECT_EQ(runs[0].wiring, nullptr) << "before the first line";
  for (const std::size_t step : {1, 2}) {
    ASSERT_NE(runs[step].wiring, nullptr);
    EXPECT_EQ(runs[step].wiring->inputs, full);
  }
  ASSERT_NE(runs[3].wiring, nullptr);
  EXPECT_NE(runs[3].wiring->find(7), nullptr);
  EXPECT_EQ(runs[4].wiring, nullptr) << "of another operator";
  EXPECT_EQ(runs.operator_number(4), relu);
  EXPECT_EQ(runs.wirings_of(0).size(), 3u);
}

TEST(Runs, HaveTheSlotsThatTheLogSaysHaveNoData) {
  const model::Operator op;
  const UndumpedSlot view{"a", 0, 1, model::Side::input, 0, model::DType::float32, {2}, "view"};
  const UndumpedSlot known{"a", 0, 0, model::Side::output, 0, model::DType::float32, {2}, "view"};
  Runs runs;
  for (std::int64_t step = 0; step < 2; ++step) add_run(runs, runs.add_section({0, 0, step}), make_run("a"));
  const std::uint32_t number = runs.add_operator(op);
  for (std::size_t i = 0; i < 2; ++i) runs.set_operator(i, number);
  runs.add_undumped(number, view);
  runs.add_undumped(number, known);
  EXPECT_EQ(runs[0].slots.size(), 1u);  // it was seen later
  ASSERT_EQ(runs[1].slots.size(), 2u);
  EXPECT_EQ(runs[1].slots[0].undumped_reason, "view");
  EXPECT_EQ(runs[1].slots[1].undumped_reason, "");  // it has data
}

TEST(Runs, SlotsWithoutDataStandAtTheirPlaces) {
  Runs runs;
  OperatorRun run = make_run("large", 1);
  run.slots.resize(9, run.slots[0]);
  for (std::uint32_t i = 0; i < run.slots.size(); ++i) run.slots[i].index = 2 * i;
  add_run(runs, runs.add_section({0, 0, 0}), run);
  const std::uint32_t number = runs.add_operator(model::Operator());
  for (const std::uint32_t index : {1, 2, 7, 99})
    runs.add_undumped(number, {"", 0, 0, model::Side::output, index, model::DType::float32, {2}, "view"});
  runs.set_operator(0, number);
  runs.sort();
  EXPECT_EQ(runs.slot_count(0), 13u);
  std::vector<std::uint32_t> indices;
  for (const Slot& slot : runs.slots(0)) indices.push_back(slot.index);
  EXPECT_THAT(indices, ElementsAre(0, 1, 2, 4, 6, 7, 8, 10, 12, 14, 16, 99));
  const OperatorRun large = runs[0];
  ASSERT_EQ(large.slots.size(), 12u);
  EXPECT_EQ(large.slots[2].undumped_reason, "");  // it has data
  EXPECT_EQ(large.slots[1].undumped_reason, "view");
}

// A dump may have a directory for each of very many steps.
TEST(Runs, LeaveStepsOutForAWhile) {
  Runs runs;
  for (std::int64_t step = 0; step < 4; ++step)
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      add_run(runs, runs.add_section({rank, 0, step}), make_run("a"));
  runs.sort();
  const auto list = [&] {
    std::vector<std::pair<std::uint32_t, std::int64_t>> found;
    for (const OperatorRun& run : runs) found.emplace_back(run.rank, run.step);
    return found;
  };
  {
    const LaterRuns later(runs, 2);
    EXPECT_THAT(list(), ElementsAre(std::pair(0, 0), std::pair(0, 2), std::pair(0, 3), std::pair(1, 0),
                                    std::pair(1, 2), std::pair(1, 3)));
    const LaterRuns last(runs, 3);
    EXPECT_THAT(list(), ElementsAre(std::pair(0, 0), std::pair(0, 3), std::pair(1, 0), std::pair(1, 3)));
    EXPECT_EQ(runs.section_count(), 8);
  }
  EXPECT_EQ(runs.size(), 8);
}

TEST(Runs, OfManySteps) {
  Runs runs;
  constexpr std::int64_t kSteps = 100'000;
  const auto directory_of = [](std::int64_t step) { return "/dump/rank_0/net/0/" + std::to_string(step); };
  for (std::int64_t step = kSteps - 1; step >= 0; --step) {
    OperatorRun run = make_run("a");
    run.slots[0].file = directory_of(step) + "/a.npy";
    const std::uint32_t section = runs.add_section({0, 0, step}, "net" + std::to_string(step % 2));
    add_run(runs, section, run, directory_of(step));
    if (step % 3 == 0) runs.show_model(section);
  }
  ASSERT_EQ(runs.section_count(), kSteps);
  runs.sort();
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const OperatorRun run = runs[static_cast<std::size_t>(step)];
    ASSERT_EQ(run.step, step);
    ASSERT_EQ(run.slots[0].file, directory_of(step) + "/a.npy");
    ASSERT_EQ(run.name, step % 3 != 0 ? "a" : step % 2 == 0 ? "net0/a" : "net1/a");
  }
}

}  // namespace
}  // namespace opdump::dump
