#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/csv.h"
#include "report/jsonl.h"
#include "report/summary.h"
#include "report/table.h"

namespace opdump::report {
namespace {

using compare::Answer;
using compare::Comparison;
using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInf = std::numeric_limits<double>::infinity();

// A comparison put together by hand; owns what it points to.
struct Made {
  std::deque<dump::Slot> slots;
  std::deque<dump::OperatorRun> runs;
  std::deque<dump::LoggedOperator> ops;
  std::deque<OperatorComparison> operators;
  Comparison comparison;

  SlotComparison slot(model::Side side, Verdict verdict, std::optional<math::Metrics> metrics = {}) {
    slots.emplace_back().side = side;
    SlotComparison slot;
    slot.golden = slot.actual = &slots.back();
    slot.verdict = verdict;
    slot.dtype = model::DType::float32;
    slot.shape = model::Shape{2, 3};
    slot.metrics = metrics;
    return slot;
  }

  OperatorComparison& op(const std::string& name, Verdict verdict) {
    ops.emplace_back(model::Operator{"convolution", name, model::Phase::forward, 0, 0, "train.py", 31});
    runs.emplace_back();
    runs.back().name = model::sanitise_name(name);
    runs.back().type = "convolution";
    runs.back().op = {std::shared_ptr<void>(), &ops.back()};  // which `ops` owns
    OperatorComparison& op = operators.emplace_back();
    op.golden = op.actual = {std::shared_ptr<void>(), &runs.back()};  // which `runs` owns
    op.verdict = verdict;
    ++comparison.verdicts[static_cast<std::size_t>(verdict)];
    return op;
  }
};

math::Metrics metrics(double cosine, double max_abs) {
  math::Metrics m;
  m.count = 6;
  m.mismatch_count = max_abs > 0 ? 2 : 0;
  m.cosine = cosine;
  m.max_abs = max_abs;
  m.max_rel = max_abs > 0 ? kInf : 0;
  return m;
}

// conv1 matches, conv2 is at fault, the rest inherits.
Made typical() {
  Made made;
  OperatorComparison& good = made.op("Default/conv1-Conv2d/convolution-op0", Verdict::match);
  good.slots.push_back(made.slot(model::Side::output, Verdict::match, metrics(1, 0)));
  OperatorComparison& bad = made.op("Default/conv2-Conv2d/convolution-op0", Verdict::own_error);
  bad.slots.push_back(made.slot(model::Side::input, Verdict::match, metrics(1, 0)));
  bad.slots.push_back(made.slot(model::Side::output, Verdict::own_error, metrics(0.981, 0.37)));
  for (int i = 0; i < 25; ++i) {
    OperatorComparison& op = made.op("Default/fc" + std::to_string(i), Verdict::inherited);
    op.slots.push_back(made.slot(model::Side::input, Verdict::input_differs, metrics(0.99, 0.1)));
    op.slots.push_back(made.slot(model::Side::output, Verdict::inherited, metrics(0.97, 0.5)));
  }
  made.comparison.first_bad = bad;
  made.comparison.outcome = Answer::differs;
  made.comparison.coverage = {412, 412, 412, 1304, 1304, 1288490188, 0};
  return made;
}

TEST(Summary, NamesTheFirstBadOperator) {
  EXPECT_EQ(
      conclusion(typical().comparison),
      "first bad operator: Default/conv2-Conv2d/convolution-op0 (forward, step 0) at train.py:31 — inputs "
      "match, output differs (cosine 0.981, max abs 0.37)");
  EXPECT_EQ(coverage_line(typical().comparison),
            "compared 1304 of 1304 tensors in 412 of 412 operators (1.2 GiB)");
}

TEST(Summary, OtherKindsOfFirstBad) {
  Made made = typical();
  made.comparison.first_bad = made.operators[2];
  EXPECT_THAT(conclusion(made.comparison),
              EndsWith("— inputs already differ, output differs (cosine 0.97, max abs 0.5)"));

  made.comparison.first_bad = made.operators[1];
  OperatorComparison& op = *made.comparison.first_bad;
  op.slots[0].verdict = Verdict::unreadable;
  EXPECT_THAT(conclusion(made.comparison), HasSubstr("— inputs not compared, output differs"));
  op.slots.erase(op.slots.begin());
  EXPECT_THAT(conclusion(made.comparison), HasSubstr("— no inputs recorded, output differs"));

  op.slots[0].metrics->nan_mismatch_count = 1;
  op.slots[0].reason = "1 of 6 elements are NaN or inf on one side";
  EXPECT_THAT(conclusion(made.comparison),
              EndsWith("output differs (1 of 6 elements are NaN or inf on one side)"));
  op.slots[0].metrics.reset();
  op.slots[0].reason = "shape (2,3) against (3,2)";
  EXPECT_THAT(conclusion(made.comparison), EndsWith("output differs (shape (2,3) against (3,2))"));

  made.comparison.before_first_bad.only_actual = 1;
  EXPECT_THAT(conclusion(made.comparison), EndsWith("; just before it, 1 operator is only in actual"));
  made.comparison.before_first_bad = {};

  op.verdict = Verdict::missing;
  EXPECT_THAT(conclusion(made.comparison), EndsWith("— only in golden"));
  made.ops[1].source_file.clear();
  made.comparison.has_ranks = true;
  made.runs[1].step = 7;
  EXPECT_THAT(conclusion(made.comparison), HasSubstr("(forward, step 7, rank 0) — only in golden"));
}

TEST(Summary, NoDifference) {
  Made made = typical();
  made.comparison.first_bad.reset();
  made.comparison.outcome = Answer::same;
  EXPECT_EQ(conclusion(made.comparison), "no difference: 412 operators, 1304 tensors compared");
  made.comparison.outcome = Answer::incomplete;
  EXPECT_EQ(conclusion(made.comparison),
            "no difference found, but the result is incomplete: 412 operators, 1304 tensors compared");
  made.comparison.outcome = Answer::nothing_compared;
  made.comparison.coverage = {1, 0, 0, 1, 0, 0, 0};
  EXPECT_EQ(conclusion(made.comparison),
            "nothing compared: of 1 operator in golden and 0 in actual none is in both");
  made.comparison.coverage = {2, 2, 1, 2, 0, 0, 3};
  EXPECT_EQ(conclusion(made.comparison),
            "nothing compared: 1 operator is in both, but no tensor could be compared");
  EXPECT_EQ(
      coverage_line(made.comparison),
      "compared 0 of 2 tensors in 1 of 2 operators (0 B); 1 only in golden; 1 only in actual; 3 tensors "
      "left out");
}

std::string table_of(const Made& made, const TableStyle& style = {}) {
  Table table(style);
  for (const OperatorComparison& op : made.operators) table.add(op);
  std::string text;
  table.print(made.comparison.has_ranks, [&](std::string_view line) { text += line; });
  return text;
}

TEST(Table, ShowsWhatDoesNotMatchAndCountsTheRest) {
  const std::string text = table_of(typical());
  EXPECT_EQ(
      text.substr(0, text.find("Default/fc0")),
      "verdict    step  operator                              slot      cosine  relative L2  max abs  "
      "elements that differ\n"
      "own_error  0     Default/conv2-Conv2d/convolution-op0  output.0  0.981   0            0.37     2 of "
      "6\n"
      "inherited  0     ");
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 20 + 1);
  EXPECT_THAT(text, EndsWith("... and 6 more that do not match; --all shows every operator\n"));
  EXPECT_THAT(text, Not(HasSubstr("conv1")));
}

TEST(Table, AllShowsEveryOperator) {
  TableStyle style;
  style.all = true;
  const std::string text = table_of(typical(), style);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 27);
  EXPECT_THAT(text, HasSubstr("match      0     Default/conv1"));
}

TEST(Table, ColoursOnlyIfAskedFor) {
  TableStyle style;
  EXPECT_THAT(table_of(typical(), style), Not(HasSubstr("\033")));
  style.colour = true;
  EXPECT_THAT(table_of(typical(), style), HasSubstr("\033[1;31mown_error\033[0m  0"));
}

TEST(Table, TheRowsThatAreOffByMostComeFirstIfAskedFor) {
  Made made = typical();
  for (int i = 0; i < 3; ++i) made.operators[24 + i].slots[1].metrics->relative_l2 = i + 1;
  TableStyle style;
  style.order = TableStyle::Order::error;
  style.row_limit = 2;
  const std::string table = table_of(made, style);
  EXPECT_LT(table.find("Default/fc24"), table.find("Default/fc23"));
  EXPECT_THAT(table, HasSubstr("... and 24 more that do not match"));
  EXPECT_THAT(table, Not(HasSubstr("Default/fc22 ")));
}

TEST(Table, LinesFitATerminal) {
  Made made = typical();
  made.operators[1].slots[1].reason = std::string(100, 'x');
  TableStyle style;
  for (const std::size_t width : {60, 80, 100}) {
    style.width = width;
    std::istringstream lines(table_of(made, style));
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(line.starts_with("...") || line.size() <= width) << line;
  }
  style.width = 60;
  EXPECT_THAT(table_of(made, style), HasSubstr("Defaul..volution-op0"));
}

TEST(Summary, ACosineOfOneNeverStandsBesideADifference) {
  EXPECT_EQ(format_cosine(metrics(1, 0)), "1");
  EXPECT_EQ(format_cosine(metrics(0.981, 0.37)), "0.981");
  EXPECT_EQ(format_cosine(metrics(1 - 1.234e-9, 0.37)), "1-1.2e-09");
  EXPECT_EQ(format_cosine(metrics(1, 0.37)), "");
}

TEST(Summary, OpensWithTheWorstElement) {
  Made made = typical();
  math::Metrics& worst = *made.comparison.first_bad->slots[1].metrics;
  worst.max_abs_index = 4;
  worst.max_abs_golden = 1.5;
  worst.max_abs_actual = 1.87;
  EXPECT_EQ(format_opening(made.comparison),
            "Default/conv2-Conv2d/convolution-op0\n  output.0 differs in step 0, called at train.py:31\n"
            "  mismatched elements: 2 of 6 (33.3 %)\n"
            "  greatest difference: 0.37 at (1,1), golden 1.5, actual 1.87\n\n");
  EXPECT_THAT(format_opening(made.comparison, 50),
              EndsWith("  greatest difference: 0.37 at (1,1), golden 1.5,\n    actual 1.87\n\n"));
  made.comparison.first_bad.reset();
  EXPECT_EQ(format_opening(made.comparison), "");
}

TEST(Table, NothingToShow) {
  EXPECT_EQ(table_of(Made()), "");
  Comparison comparison;
  comparison.incomplete.assign(12, "reason");
  const std::string text = format_summary(comparison, {});
  EXPECT_THAT(text, HasSubstr("incomplete: ... and 2 more; --all shows them\n"));
  EXPECT_THAT(text, EndsWith("none is in both\n"));
}

TEST(Csv, OneRowForEachPairOfSlots) {
  Made made = typical();
  OperatorComparison& op = made.operators[1];
  op.slots[1].reason = "a \"quoted\", text";
  std::string text(csv_header());
  append_csv_rows(text, op);
  EXPECT_EQ(
      text,
      "rank,graph,step,phase,operator,type,slot,dtype,shape,verdict,cosine,max_abs,max_rel,relative_l2,"
      "mean_abs,rmse,mismatch_count,count,source,reason\r\n"
      "0,0,0,forward,Default/conv2-Conv2d/convolution-op0,convolution,input.0,float32,\"(2,3)\",match,1,0,0,"
      "0,0,0,0,6,train.py:31,\r\n"
      "0,0,0,forward,Default/conv2-Conv2d/convolution-op0,convolution,output.0,float32,\"(2,3)\",own_error,"
      "0.981,0.37,inf,0,0,0,2,6,train.py:31,\"a \"\"quoted\"\", text\"\r\n");
}

TEST(Csv, FieldsThatDoNotApplyAreEmpty) {
  Made made;
  OperatorComparison& op = made.op("x", Verdict::missing);
  op.slots.push_back(made.slot(model::Side::output, Verdict::missing));
  op.slots[0].dtype = model::DType::undefined;
  op.slots[0].shape.reset();
  made.runs[0].op = nullptr;
  std::string text;
  append_csv_rows(text, op);
  EXPECT_EQ(text, "0,0,0,,x,convolution,output.0,,,missing,,,,,,,,,,\r\n");
}

TEST(JsonLines, SlotsThenASummary) {
  Made made = typical();
  made.operators[1].slots[1].metrics->cosine = std::nan("");
  std::string text;
  append_json_lines(text, made.operators[1]);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  const auto record = nlohmann::json::parse(text.substr(text.find('\n') + 1));
  EXPECT_EQ(record["schema_version"], 1);
  EXPECT_EQ(record["record"], "slot");
  EXPECT_EQ(record["operator"], "Default/conv2-Conv2d/convolution-op0");
  EXPECT_EQ(record["slot"], "output.0");
  EXPECT_EQ(record["shape"], (std::vector{2, 3}));
  EXPECT_EQ(record["verdict"], "own_error");
  EXPECT_EQ(record["cosine"], "nan");
  EXPECT_EQ(record["max_rel"], "inf");
  EXPECT_EQ(record["max_abs"], 0.37);
  EXPECT_EQ(record["source"], "train.py:31");

  const auto summary = nlohmann::json::parse(summary_json_line(made.comparison, "g", "a"));
  EXPECT_EQ(summary["record"], "summary");
  EXPECT_EQ(summary["outcome"], "differs");
  EXPECT_EQ(summary["verdicts"]["inherited"], 25);
  EXPECT_EQ(summary["first_bad"]["operator"], "Default/conv2-Conv2d/convolution-op0");
  EXPECT_EQ(summary["compared_tensors"], 1304);
}

TEST(JsonLines, NamesThatAreNoText) {
  Made made;
  OperatorComparison& op = made.op("bad\xff", Verdict::match);
  op.slots.push_back(made.slot(model::Side::output, Verdict::match, metrics(1, 0)));
  std::string text;
  append_json_lines(text, op);
  EXPECT_THAT(text, HasSubstr("bad\xef\xbf\xbd"));
}

}  // namespace
}  // namespace opdump::report
