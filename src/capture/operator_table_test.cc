#include "capture/operator_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "dump/temp_directory_test.h"

namespace opdump::capture {
namespace {

using model::Side;
using testing::ElementsAre;
using testing::HasSubstr;

class OperatorTableTest : public testing::Test {
 protected:
  OperatorTable make(OperatorTable::Options options = {}) {
    return {std::move(options), std::move(*dump::OperatorLogWriter::open(directory_.path())), state_};
  }

  static const DefinedOperator* define(OperatorTable& table, std::string name, std::int64_t graph_id = 0) {
    return table.define(
        model::Operator{.type = "Add", .name = std::move(name), .graph_id = graph_id, .source_file = {}});
  }

  // "a" for an operator, "a:1 view" for a slot without data.
  std::vector<std::string> read_log() {
    std::vector<std::string> lines;
    const auto read = dump::read_operator_log(
        directory_.path(),
        {.op =
             [&](const dump::LoggedOperator& op) {
               lines.push_back(op.name);
               return ok();
             },
         .slot =
             [&](const dump::UndumpedSlot& slot) {
               lines.push_back(slot.operator_name + ":" + std::to_string(slot.index) + " " + slot.reason);
               return ok();
             }});
    EXPECT_TRUE(read);
    return lines;
  }

  dump::TempDirectory directory_;
  RecordingState state_;
};

TEST_F(OperatorTableTest, AnOperatorIsTheSameForTheSameGraphAndName) {
  OperatorTable table = make();
  EXPECT_TRUE(table.is_empty());
  const DefinedOperator* const a = define(table, "a");
  EXPECT_EQ(define(table, "a"), a);
  EXPECT_NE(define(table, "a", 1), a);
  EXPECT_TRUE(a->selected);
  EXPECT_FALSE(table.is_empty());
}

TEST_F(OperatorTableTest, WhatIsSelectedIsLoggedOnce) {
  OperatorTable::Options options;
  ASSERT_TRUE(options.operators.add(plan::RuleKind::name, "a"));
  OperatorTable table = make(std::move(options));
  for (int i = 0; i < 2; ++i) define(table, "a");
  EXPECT_FALSE(define(table, "b")->selected);
  EXPECT_THAT(read_log(), ElementsAre());
  ASSERT_TRUE(table.flush_log());
  EXPECT_THAT(read_log(), ElementsAre("a"));
}

TEST_F(OperatorTableTest, AnotherLineIsLoggedAsOftenAsItChanges) {
  OperatorTable table = make();
  const auto call_from = [&](std::string file, int line) {
    return table.define(
        model::Operator{.type = "Add", .name = "a", .source_file = std::move(file), .source_line = line});
  };
  const DefinedOperator* const a = call_from("a.py", 1);
  for (const auto& [step, line] : {std::pair(1, 1), std::pair(2, 5), std::pair(3, 5), std::pair(4, 1)}) {
    state_.step = step;
    EXPECT_EQ(call_from("a.py", line), a);
  }
  call_from("", 0);  // which says nothing
  ASSERT_TRUE(table.flush_log());
  std::vector<std::string> lines;
  ASSERT_TRUE(dump::read_operator_log(directory_.path(), {.op =
                                                              [&](const dump::LoggedOperator& op) {
                                                                lines.push_back(
                                                                    std::to_string(op.since.value_or(-1)) +
                                                                    ": " + model::format_source(op));
                                                                return ok();
                                                              },
                                                          .slot = [](const auto&) { return ok(); }}));
  EXPECT_THAT(lines, ElementsAre("-1: a.py:1", "2: a.py:5", "4: a.py:1"));
}

TEST_F(OperatorTableTest, ASlotWithoutDataIsLoggedOnce) {
  OperatorTable table = make();
  const DefinedOperator* const a = define(table, "a");
  for (const std::uint32_t index : {0u, 40u}) {
    Operand operand;
    operand.index = index;
    for (int i = 0; i < 2; ++i) table.log_undumped(*a, 0, Side::input, operand, "view");
  }
  ASSERT_TRUE(table.flush_log());
  EXPECT_THAT(read_log(), ElementsAre("a", "a:0 view", "a:40 view"));
}

TEST_F(OperatorTableTest, NothingIsLoggedAfterRecordingStopped) {
  OperatorTable table = make();
  state_.stopped = true;
  table.log_undumped(*define(table, "a"), 0, Side::input, {}, "view");
  ASSERT_TRUE(table.flush_log());
  EXPECT_THAT(read_log(), ElementsAre());
}

TEST_F(OperatorTableTest, FlagsOfScopesSelectOperatorsBeforeAndAfter) {
  OperatorTable::Options options;
  options.only_flagged = true;
  OperatorTable table = make(std::move(options));
  const DefinedOperator* const before = define(table, "Default/conv/a");
  EXPECT_FALSE(before->selected);
  EXPECT_TRUE(table.lacks_flags());
  EXPECT_THAT(table.list_requested(), ElementsAre("NoSetDumpTarget"));
  table.set_dump("Default/conv", true, false);
  EXPECT_TRUE(before->selected);
  EXPECT_TRUE(define(table, "Gradients/Default/conv/b")->selected);
  EXPECT_FALSE(define(table, "Default/relu/c")->selected);
  EXPECT_FALSE(table.lacks_flags());
  EXPECT_FALSE(table.wants_constant("data-0"));
  table.set_dump("Default/con", true, false);
  EXPECT_THAT(table.describe_unmatched(), ElementsAre(HasSubstr("'Default/con' of set_dump(); nearest: ")));
}

TEST_F(OperatorTableTest, FlagsOfTypesAreStrongerThanThoseOfScopes) {
  OperatorTable::Options options;
  options.only_flagged = true;
  OperatorTable table = make(std::move(options));
  const auto define_type = [&](std::string name, std::string type) {
    dump::LoggedOperator op;
    op.name = std::move(name), op.type = std::move(type);
    return table.define(std::move(op));
  };
  const DefinedOperator* const relu = define_type("Default/fc/relu_-op0", "relu_");
  const DefinedOperator* const leaky = define_type("Default/fc/leaky_relu-op0", "leaky_relu");
  const DefinedOperator* const conv = define_type("Default/fc/convolution-op0", "convolution");
  table.set_dump("ReLU", true, false);
  EXPECT_TRUE(relu->selected);
  EXPECT_FALSE(leaky->selected);
  table.set_dump("Default/fc", true, false);
  table.set_dump("Conv2D", false, false);
  EXPECT_TRUE(leaky->selected);
  EXPECT_FALSE(conv->selected);
  table.set_dump("Default/fc/convolution-op0", true, false);
  EXPECT_TRUE(conv->selected);
  EXPECT_TRUE(table.describe_unmatched().empty());
  table.set_dump("convoluton", true, false);
  EXPECT_THAT(table.describe_unmatched(),
              ElementsAre(HasSubstr("'convoluton' of set_dump(); nearest: convolution")));
}

TEST_F(OperatorTableTest, ThreadsThatDefineAnOperatorGetTheSameOne) {
  OperatorTable table = make();
  std::vector<const DefinedOperator*> defined(4);
  {
    std::vector<std::jthread> threads;
    for (auto& op : defined)
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) op = define(table, "a" + std::to_string(i));
      });
  }
  for (const auto* op : defined) EXPECT_EQ(op, defined[0]);
  ASSERT_TRUE(table.flush_log());
  EXPECT_EQ(read_log().size(), 100u);
}

}  // namespace
}  // namespace opdump::capture
