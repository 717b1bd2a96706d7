#include "compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/file/file.h"
#include "compare/compare_fixture_test.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "dump/operator_log.h"
#include "dump/status_file.h"
#include "dump/write/model_tree.h"
#include "dump/write/rank_tree.h"

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(CompareTest, Identical) {
  fill(*golden_);
  fill(*actual_);
  const Comparison& c = compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:match", "b:match", "c:match"));
  EXPECT_EQ(c.outcome, Answer::same);
  EXPECT_EQ(c.coverage.compared_slots, 7u);
  EXPECT_EQ(c.coverage.golden_slots, 7u);
  EXPECT_EQ(c.coverage.compared_bytes, 56u);
  EXPECT_FALSE(c.first_bad);
}

TEST_F(CompareTest, OneOperatorIsAtFaultTheNextInherit) {
  fill(*golden_);
  HandMade& a = *actual_;
  a.tensor("add.a.input.0", {1, 2}).tensor("add.a.input.1", {3, 4}).tensor("add.a.output.0", {4, 6});
  a.tensor("relu.b.input.0", {4, 6}).tensor("relu.b.output.0", {4, 7});
  a.tensor("mul.c.input.0", {4, 7}).tensor("mul.c.output.0", {8, 14});
  const Comparison& c = compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:match", "b:own_error", "c:inherited"));
  EXPECT_EQ(first_bad(), 1u);
  EXPECT_EQ(c.outcome, Answer::differs);
  const SlotComparison& bad = slot("b", model::Side::output);
  ASSERT_TRUE(bad.metrics);
  EXPECT_DOUBLE_EQ(bad.metrics->max_abs, 1);
  EXPECT_EQ(bad.metrics->mismatch_count, 1u);
  EXPECT_EQ(bad.metrics->count, 2u);
  EXPECT_EQ(slot("c", model::Side::input).verdict, Verdict::input_differs);
}

TEST_F(CompareTest, OutputsThatRecoverLeaveNoError) {
  fill(*golden_);
  fill(*actual_, 1.5f);
  compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:input_differs", "b:match", "c:match"));
  EXPECT_EQ(first_bad(), 0u);
}

TEST_F(CompareTest, NanOnOneSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  golden_->tensor("add.a.output.0", {1, 2, nan});
  actual_->tensor("add.a.output.0", {1, nan, nan});
  compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:own_error"));
  EXPECT_EQ(slot("a", model::Side::output).reason, "1 of 3 elements are NaN or inf on one side");
}

TEST_F(CompareTest, TolerancesByDtypeAndByOption) {
  golden_->tensor("add.a.output.0", {1});
  actual_->tensor("add.a.output.0", {1.001f});
  compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:own_error"));
  CompareOptions loose;
  loose.rtol = 1e-2;
  compare(loose);
  EXPECT_THAT(verdicts(), ElementsAre("a:match"));
  EXPECT_EQ(comparison_.outcome, Answer::same);
}

TEST_F(CompareTest, SmallTensorsAreComparedAsSharplyAsLargeOnes) {
  golden_->tensor("add.a.output.0", {3e-6f, -2e-6f, 1e-6f});
  actual_->tensor("add.a.output.0", {3e-6f, -2e-6f, 1.2e-6f});
  golden_->tensor("add.b.output.0", {1000, 1e-3f});  // beside a large element a small one is rounded
  actual_->tensor("add.b.output.0", {1000, 1.2e-3f});
  compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:own_error", "b:match"));
  CompareOptions absolute;
  absolute.atol = 1e-5;
  compare(absolute);
  EXPECT_THAT(verdicts(), ElementsAre("a:match", "b:own_error"));
}

TEST_F(CompareTest, AMaskHidesNoOtherScores) {
  const std::pair<std::string, float> fillers[] = {{"a", -1e9F}, {"b", -std::numeric_limits<float>::max()}};
  for (const auto& [name, filler] : fillers) {
    for (HandMade* dump : {&*golden_, &*actual_}) dump->tensor("add." + name + ".input.0", {1});
    golden_->tensor("add." + name + ".output.0", {filler, 1, filler, 2, filler});
    actual_->tensor("add." + name + ".output.0", {filler, 1, filler, 2.01F, filler});
  }
  compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:own_error", "b:own_error"));
  for (const auto& [name, filler] : fillers)
    EXPECT_GT(slot(name, model::Side::output).metrics->relative_l2, 1e-3);
}

TEST_F(CompareTest, MemoryThatIsOnlyOverwrittenIsNoInput) {
  const auto fill_copy = [](HandMade& dump, float before) {
    dump.tensor("copy_.a.input.0", {before, before}).tensor("copy_.a.input.1", {1, 2});
    dump.tensor("copy_.a.output.0", {1, 2});
  };
  fill_copy(*golden_, 3);
  fill_copy(*actual_, std::nanf(""));
  EXPECT_EQ(compare().outcome, Answer::same);
  EXPECT_EQ(slot("a", model::Side::input, 0).verdict, Verdict::skipped);
  golden_->tensor("add_.b.input.0", {1, 2}).tensor("add_.b.output.0", {2, 3});
  actual_->tensor("add_.b.input.0", {1, 5}).tensor("add_.b.output.0", {2, 3});
  EXPECT_EQ(compare().outcome, Answer::differs);
}

TEST_F(CompareTest, TheCoarserTypeSetsTheTolerance) {
  const double third = 1.0 / 3;
  std::string data(8, '\0');
  std::memcpy(data.data(), &third, 8);
  golden_->raw("add.a.output.0", "<f8", "(1,)", data, "float64");
  actual_->tensor("add.a.output.0", {static_cast<float>(third)});
  compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:match"));
}

TEST_F(CompareTest, DroppedPrecisionIsADifferenceOfValues) {
  const double third = 1.0 / 3;
  std::string data(8, '\0');
  std::memcpy(data.data(), &third, 8);
  golden_->raw("add.a.output.0", "<f8", "(1,)", data, "float64");
  actual_->tensor("add.a.output.0", {static_cast<float>(third)});
  golden_->raw("add.b.output.0", "<f8", "(1,)", std::string("\0\0\0\0\0\0\xf0\x3f", 8), "float64");  // 1.0
  actual_->tensor("add.b.output.0", {1});
  CompareOptions exact;
  exact.rtol = exact.atol = 0;
  compare(exact);
  EXPECT_THAT(verdicts(), ElementsAre("a:own_error", "b:match"));
  EXPECT_EQ(slot("b", model::Side::output).reason, "dtype float64 against float32");
}

TEST_F(CompareTest, MissingAndExtraOperators) {
  fill(*golden_);
  HandMade& a = *actual_;
  a.tensor("add.a.input.0", {1, 2}).tensor("add.a.input.1", {3, 4}).tensor("add.a.output.0", {4, 6});
  a.tensor("gelu.x.output.0", {1});
  a.tensor("mul.c.input.0", {4, 6}).tensor("mul.c.output.0", {8, 12});
  const Comparison& c = compare();
  // What b makes, c reads in both runs.
  EXPECT_THAT(verdicts(), ElementsAre("a:match", "x:extra", "b:skipped", "c:match"));
  EXPECT_EQ(first_bad(), 1u);
  EXPECT_EQ(c.outcome, Answer::differs);
  EXPECT_EQ(c.coverage.golden_operators, 3u);
  EXPECT_EQ(c.coverage.paired_operators, 2u);
  EXPECT_EQ(c.coverage.golden_slots, 5u);
  EXPECT_EQ(c.coverage.compared_slots, 5u);
  EXPECT_EQ(slot("x", model::Side::output).reason, "only in actual");
  EXPECT_EQ(slot("b", model::Side::output).rule, "results-elsewhere");
}

TEST_F(CompareTest, ShapeChange) {
  golden_->tensor("add.a.input.0", {1}).tensor("add.a.output.0", {1, 2, 3, 4, 5, 6}, "(2, 3)");
  actual_->tensor("add.a.input.0", {1}).tensor("add.a.output.0", {1, 2, 3, 4, 5, 6}, "(3, 2)");
  const Comparison& c = compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:own_error"));
  EXPECT_EQ(slot("a", model::Side::output).verdict, Verdict::not_comparable);
  EXPECT_EQ(slot("a", model::Side::output).reason, "shape (2,3) against (3,2)");
  EXPECT_EQ(c.coverage.compared_slots, 1u);
}

TEST_F(CompareTest, StatisticsOnBothSides) {
  golden_->statistics(
      "add,a,0,0,1700000000000001,input,0,8,float32,\"(2)\",2,1,2.23607,\n"
      "add,a,0,0,1700000000000002,output,0,8,float32,\"(2)\",6,4,7.2111,\n");
  actual_->statistics(
      "add,a,0,0,1800000000000001,input,0,8,float32,\"(2)\",2,1,2.23607,\n"
      "add,a,0,0,1800000000000002,output,0,8,float32,\"(2)\",7,4,8.06226,\n");
  const Comparison& c = compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:own_error"));
  const SlotComparison& bad = slot("a", model::Side::output);
  EXPECT_TRUE(bad.from_statistics);
  EXPECT_EQ(bad.reason, "Max Value 6 against 7");
  EXPECT_EQ(c.coverage.compared_slots, 2u);
}

TEST_F(CompareTest, StatisticsAgainstTensors) {
  fill(*golden_);
  actual_->statistics(
      "add,a,0,0,1800000000000001,input,0,8,float32,\"(2)\",2,1,2.23607,\n"
      "add,a,0,0,1800000000000002,input,1,8,float32,\"(2)\",4,3,5,\n"
      "add,a,0,0,1800000000000003,output,0,8,float32,\"(2)\",6,4,7.2111,\n"
      "relu,b,0,0,1800000000000004,input,0,8,float32,\"(2)\",6,4,7.2111,\n"
      "relu,b,0,0,1800000000000005,output,0,8,float32,\"(3)\",6,4,7.2111,\n"
      "mul,c,0,0,1800000000000006,input,0,8,float32,\"(2)\",6,4,7.2111,\n"
      "mul,c,0,0,1800000000000007,output,0,8,float32,\"(2)\",12,9,14.4222,\n");
  compare();
  EXPECT_THAT(verdicts(), ElementsAre("a:match", "b:own_error", "c:own_error"));
  EXPECT_EQ(slot("c", model::Side::output).reason, "Min Value 8 against 9");
}

TEST_F(CompareTest, TornFileLeavesTheAnswerOpen) {
  fill(*golden_);
  fill(*actual_);
  fs::resize_file(actual_->last(), fs::file_size(actual_->last()) - 1);
  const Comparison& c = compare();
  EXPECT_EQ(c.outcome, Answer::incomplete);
  EXPECT_FALSE(c.first_bad);
  EXPECT_EQ(c.incomplete.size(), 1u);
  EXPECT_EQ(c.coverage.compared_slots, 6u);
}

TEST_F(CompareTest, StepsThatOneSideDidNotRecordAreNoFault) {
  for (int step = 0; step < 4; ++step) fill(golden_->step(step));
  for (int step = 0; step < 2; ++step) fill(actual_->step(step));
  const Comparison& c = compare();
  EXPECT_EQ(c.outcome, Answer::incomplete);
  EXPECT_FALSE(c.first_bad);
  EXPECT_THAT(c.incomplete, ElementsAre("rank 0: steps 2-3 are only in golden: left out"));
  EXPECT_EQ(c.coverage.compared_slots, 14u);
  EXPECT_EQ(c.coverage.golden_slots, 28u);
}

TEST_F(CompareTest, NothingInCommon) {
  golden_->tensor("add.a.output.0", {1});
  actual_->tensor("mul.b.output.0", {1});
  const Comparison& c = compare();
  EXPECT_EQ(c.outcome, Answer::nothing_compared);
  EXPECT_EQ(c.coverage.paired_operators, 0u);
}

TEST_F(CompareTest, AnInterruptedRecordingIsNotASuccessNorItsEndADifference) {
  fill(*golden_);
  golden_->state("complete");
  actual_->tensor("add.a.input.0", {1, 2}).tensor("add.a.input.1", {3, 4}).tensor("add.a.output.0", {4, 6});
  actual_->state("recording");
  const Comparison& c = compare();
  EXPECT_EQ(c.outcome, Answer::incomplete);
  EXPECT_THAT(
      c.incomplete,
      ElementsAre("actual rank 0: the recording is unfinished: it was interrupted or is still running"));
  actual_->tensor("relu.b.input.0", {4, 6}).tensor("relu.b.output.0", {5, 6});
  EXPECT_EQ(compare().outcome, Answer::differs);
  EXPECT_THAT(verdicts(), ElementsAre("a:match", "b:own_error", "c:missing"));
}

TEST_F(CompareTest, InputsThatOneSideDidNotRecord) {
  fill(*golden_);
  actual_->tensor("add.a.output.0", {4, 6})
      .tensor("relu.b.output.0", {4, 6})
      .tensor("mul.c.output.0", {8, 12});
  const Comparison& c = compare();
  EXPECT_EQ(c.outcome, Answer::incomplete);
  EXPECT_THAT(c.incomplete, ElementsAre("4 inputs are only in golden"));
}

// MindSpore dumps it as an input, and its graph has it as a number.
TEST_F(CompareTest, ANumberOfTheGraphIsAnArgument) {
  const auto fill_norm = [](HandMade& dump, float epsilon, const std::string& text, float result) {
    const std::string norm = "BatchNorm.Default_norm_BatchNorm-op0";
    dump.tensor(norm + ".input.0", {1, 2}).tensor(norm + ".input.1", {epsilon}, "()");
    dump.tensor(norm + ".output.0", {result, 6});
    model::Operator op;
    op.type = "BatchNorm";
    op.name = "Default/norm/BatchNorm-op0";
    std::ofstream(dump.root() / "rank_0" / dump::kOperatorLogName)
        << dump::format_log_line(dump::LoggedOperator(op))
        << dump::format_log_line(dump::LoggedForm{.operator_name = op.name,
                                                  .form = {.arguments = "{\"input.1\":" + text + "}"}});
  };
  fill_norm(*golden_, 1e-5F, "1e-05", 4);
  fill_norm(*actual_, 1e-3F, "0.001", 5);
  const Comparison& c = compare();
  ASSERT_TRUE(c.first_bad);
  EXPECT_EQ(c.first_bad->verdict, Verdict::argument_differs);
  EXPECT_EQ(c.first_bad->cause, "input.1 is 1e-05 in golden and 0.001 in actual");
}

// What a configuration leaves out is no difference; what it asks for and is absent is one.
TEST_F(CompareTest, AFilteredDumpAgainstAWholeOne) {
  const auto configure = [&](const std::string& settings) {
    std::ofstream(actual_->root() / "opdump_config.json")
        << R"({"common_dump_settings": {"dump_mode": 1, )" << settings << "}}";
  };
  fill(*golden_);
  actual_->tensor("relu.b.input.0", {4, 6}).tensor("relu.b.output.0", {4, 6});
  EXPECT_EQ(compare().outcome, Answer::differs);
  configure(R"("kernels": ["relu"])");
  EXPECT_EQ(compare().outcome, Answer::same);
  EXPECT_THAT(verdicts(), ElementsAre("a:skipped", "b:match", "c:skipped"));
  EXPECT_EQ(operators_[0].left_out, "the other dump was not to have it");
  EXPECT_EQ(comparison_.coverage.golden_filtered, 2u);
  EXPECT_THAT(note_texts(), ElementsAre(HasSubstr("2 operators of golden are left out")));
  configure(R"("kernels": ["relu", "mul"])");
  EXPECT_EQ(compare().outcome, Answer::differs);
  EXPECT_THAT(verdicts(), ElementsAre("a:skipped", "b:match", "c:missing"));
  EXPECT_EQ(comparison_.first_bad->run().name, "c");
  std::swap(golden_, actual_);
  EXPECT_EQ(compare().first_bad->run().name, "c");
}

TEST_F(CompareTest, ADumpOfOutputsAgainstAWholeOne) {
  fill(*golden_);
  actual_->tensor("add.a.output.0", {4, 6}).tensor("relu.b.output.0", {4, 6});
  std::ofstream(actual_->root() / "opdump_config.json") << R"({"common_dump_settings": {"input_output": 2}})";
  EXPECT_EQ(compare().outcome, Answer::differs) << "an operator is absent";
  actual_->tensor("mul.c.output.0", {8, 12});
  EXPECT_EQ(compare().outcome, Answer::same);
  EXPECT_EQ(slot("b", model::Side::input).reason, "actual was not to have it");
  EXPECT_THAT(note_texts(), ElementsAre("actual has outputs only: the other tensors are left out"));
}

TEST_F(CompareTest, ADumpOfInputsAgainstAWholeOne) {
  fill(*golden_);
  actual_->tensor("add.a.input.0", {1, 2}).tensor("add.a.input.1", {3, 4});
  actual_->tensor("relu.b.input.0", {4, 6}).tensor("mul.c.input.0", {4, 6});
  EXPECT_EQ(compare().outcome, Answer::differs);
  std::ofstream(actual_->root() / "opdump_config.json") << R"({"common_dump_settings": {"input_output": 1}})";
  EXPECT_EQ(compare().outcome, Answer::same);
}

TEST_F(CompareTest, HardLinksAreMeasuredOnceAndCountedEachTime) {
  for (HandMade* dump : {&*golden_, &*actual_}) {
    const bool is_golden = dump == &*golden_;
    dump->tensor("add.a.output.0", {1, is_golden ? 2.f : 3.f});
    const fs::path output = dump->last();
    dump->file("relu.b.input.0", "float32", "");
    fs::remove(dump->last());
    fs::create_hard_link(output, dump->last());
    dump->tensor("relu.b.output.0", {1, is_golden ? 2.f : 3.f});
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> reported;
  CompareOptions options;
  options.threads = 1;
  options.progress = [&](std::uint64_t done, std::uint64_t total) { reported.emplace_back(done, total); };
  const Comparison& c = compare(options);
  EXPECT_THAT(verdicts(), ElementsAre("a:own_error", "b:inherited"));
  EXPECT_EQ(slot("b", model::Side::input).golden->side, model::Side::input);
  EXPECT_EQ(c.coverage.compared_slots, 3u);
  EXPECT_EQ(c.coverage.compared_bytes, 24u);
  const std::uint64_t file = 128 + 8;
  EXPECT_THAT(reported, ElementsAre(std::pair(2 * file, 6 * file), std::pair(4 * file, 6 * file),
                                    std::pair(6 * file, 6 * file)));
}

TEST_F(CompareTest, ThreadsDoNotChangeTheAnswer) {
  for (int step = 0; step < 20; ++step) {
    fill(golden_->step(step));
    fill(actual_->step(step), step == 13 ? 2.f : 1.f);
  }
  CompareOptions one, many;
  one.threads = 1;
  many.threads = 8;
  compare(one);
  const auto first = first_bad();
  const auto words = verdicts();
  EXPECT_EQ(first, 39u);
  compare(many);
  EXPECT_EQ(first_bad(), first);
  EXPECT_EQ(verdicts(), words);
}

TEST_F(CompareTest, SlotsWithoutDataOnBothSidesAreSkipped) {
  model::Operator op;
  op.name = "a";
  op.type = "add";
  dump::UndumpedSlot undumped;
  undumped.operator_name = "a";
  undumped.side = model::Side::output;
  undumped.reason = "view";
  for (HandMade* dump : {&*golden_, &*actual_}) {
    dump->tensor("add.a.input.0", {1});
    auto log = dump::OperatorLogWriter::open(dump->root() / "rank_0");
    ASSERT_TRUE(log);
    log->add(op);
    log->add(undumped);
    ASSERT_TRUE(log->flush());
  }
  const Comparison& c = compare();
  EXPECT_EQ(c.outcome, Answer::same);
  EXPECT_EQ(c.coverage.skipped_slots, 1u);
  EXPECT_EQ(c.coverage.golden_slots, 1u);
}

TEST(Tolerance, Table) {
  EXPECT_EQ(default_tolerance(model::DType::float16).rtol, 1e-3);
  EXPECT_EQ(default_tolerance(model::DType::bfloat16).rtol, 1.6e-2);
  EXPECT_EQ(default_tolerance(model::DType::float32).rtol, 1.3e-6);
  EXPECT_EQ(default_tolerance(model::DType::float64).atol, 1e-7);
  EXPECT_EQ(default_tolerance(model::DType::int64).atol, 0);
  EXPECT_EQ(default_tolerance(model::DType::boolean).rtol, 0);
}

// The same run in scheme (A), as .npy, and in (B), as containers: another graph's number, another spelling of
// names, other files.
TEST(CompareTreesTest, LayoutsOfOneRunAreEqual) {
  std::string name = (fs::temp_directory_path() / "opdump_compare_XXXXXX").string();
  const fs::path directory = ::mkdtemp(name.data());
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint16_t> halves{0x3f80, 0x4000, 0xc040};
  const std::vector<std::uint8_t> nibbles{0x21, 0x0f};
  const auto record = [&](dump::SchemeWriter& scheme, std::int64_t graph_id) {
    std::uint64_t time = 1700000000000000;
    for (const char* op_name : {"Default/a:b/x-op0", "Default/a/y.z-op1"}) {
      const model::Operator op{.type = "aten::x", .name = op_name, .graph_id = graph_id, .source_file = {}};
      const auto address = [&](model::Side side, std::uint32_t index) {
        return dump::SlotAddress{
            .op = &op, .graph_id = graph_id, .step = 4, .timestamp_us = time, .side = side, .index = index};
      };
      ++time;
      const std::vector<dump::SchemeWriter::Member> members{
          {address(model::Side::input, 0),
           model::TensorView::row_major(model::DType::float32, {2, 3}, values.data())},
          {address(model::Side::input, 1),
           model::TensorView::row_major(model::DType::bfloat16, {3}, halves.data())},
          {address(model::Side::output, 0),
           model::TensorView::row_major(model::DType::int4, {3}, nibbles.data())}};
      if (scheme.writes_calls()) {
        EXPECT_TRUE(scheme.write_call(members));
        continue;
      }
      for (const auto& [place, view] : members) EXPECT_TRUE(scheme.write_tensor(place, view));
    }
  };
  const auto result = [&](const fs::path& golden_root, const fs::path& actual_root) {
    auto golden = dump::DumpSet::open(golden_root), actual = dump::DumpSet::open(actual_root);
    EXPECT_TRUE(golden && actual);
    const auto comparison = compare_dumps(*golden, *actual, CompareOptions{});
    EXPECT_EQ(comparison->coverage.compared_slots, 6u);
    return comparison->outcome;
  };
  record(**dump::open_rank_tree({directory / "a", "Net", 0, {}, false}), 0);
  dump::ModelTreeOptions options;
  options.root = directory / "b";
  options.net_name = "Net";
  options.device = 5;
  options.is_bin = true;
  record(**dump::open_model_tree(options), 3);
  options.root = directory / "c";
  values[4] = 500;
  record(**dump::open_model_tree(options), 3);

  EXPECT_EQ(result(directory / "a", directory / "b"), Answer::same);
  EXPECT_EQ(result(directory / "b", directory / "a"), Answer::same);
  EXPECT_EQ(result(directory / "b", directory / "c"), Answer::differs);
  fs::remove_all(directory);
}

// x -> Mul -> Relu -> Mul, in float and with what lies between Mul and Mul rounded to steps of 0.5.
void fill_float(HandMade& dump) {
  dump.tensor("Mul.a.input.0", {1, -1, 3}).tensor("Mul.a.output.0", {1.2F, -1.2F, 3.6F});
  dump.tensor("Relu.b.input.0", {1.2F, -1.2F, 3.6F}).tensor("Relu.b.output.0", {1.2F, 0, 3.6F});
  dump.tensor("Mul.c.input.0", {1.2F, 0, 3.6F}).tensor("Mul.c.output.0", {2.4F, 0, 7.2F});
}
void fill_quantised(HandMade& dump, const std::vector<float>& rounded) {
  std::vector<float> result;
  for (const float value : rounded) result.push_back(2 * value);
  dump.tensor("Mul.a.input.0", {1, -1, 3}).tensor("Mul.a.output.0", {1.2F, -1.2F, 3.6F});
  dump.tensor("QuantizeLinear.q.input.0", {1.2F, -1.2F, 3.6F}).tensor("QuantizeLinear.q.input.1", {0.5F});
  dump.raw("QuantizeLinear.q.output.0", "|u1", "(3,)", "\2\1\7", "uint8");
  dump.raw("DequantizeLinear.d.input.0", "|u1", "(3,)", "\2\1\7", "uint8");
  dump.tensor("DequantizeLinear.d.input.1", {0.5F}).tensor("DequantizeLinear.d.output.0", rounded);
  dump.tensor("Mul.c.input.0", rounded).tensor("Mul.c.output.0", result);
}

TEST_F(CompareTest, TakesTheStepsOfAQuantisedModelForRounding) {
  fill_float(*golden_);
  fill_quantised(*actual_, {1, 0, 3.5F});
  const Comparison comparison = compare();
  EXPECT_EQ(comparison.outcome, Answer::same);
  EXPECT_EQ(comparison.coverage.paired_operators, 3U);
  EXPECT_THAT(texts_of(comparison.notes), ::testing::Contains(HasSubstr("actual is quantised")));
}

TEST_F(CompareTest, WhatStandsForSeveralOperatorsIsComparedByItsResult) {
  fill_float(*golden_);
  fill_quantised(*actual_, {1, 0, 3.5F});
  actual_->tensor("QuantizeLinear.q.input.0", {1.2F, 0, 3.6F});
  actual_->tensor("Clip.x.input.0", {1.2F, -1.2F, 3.6F}).tensor("Clip.x.output.0", {1.2F, 0, 3.6F});
  EXPECT_EQ(compare().outcome, Answer::same);
}

TEST_F(CompareTest, WhatAddsFirstReadsTheTerms) {
  golden_->tensor("LayerNormalization.n.input.0", {3, 5}).tensor("LayerNormalization.n.output.0", {-1, 1});
  actual_->tensor("SkipLayerNormalization.n.input.0", {1, 1})
      .tensor("SkipLayerNormalization.n.output.0", {-1, 1});
  EXPECT_EQ(compare().outcome, Answer::same);
}

TEST_F(CompareTest, FindsAWrongScaleWhereItIsApplied) {
  fill_float(*golden_);
  fill_quantised(*actual_, {1, 0, -2});
  const Comparison comparison = compare();
  EXPECT_EQ(comparison.outcome, Answer::differs);
  ASSERT_TRUE(comparison.first_bad);
  EXPECT_EQ(comparison.first_bad->golden->name, "b");
  EXPECT_EQ(comparison.first_bad->actual->name, "d");
  EXPECT_EQ(comparison.first_bad->verdict, Verdict::own_error);
}

}  // namespace
}  // namespace opdump::compare
