#include "plan/dump_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace opdump::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

DumpPlan make_plan() {
  DumpPlan plan;
  plan.root = "/data/run";
  plan.net_name = "Net";
  plan.dialect = "mindspore";
  plan.config_path = "/data/data_dump.json";
  return plan;
}

TEST(StatisticTable, RowsAreInTheOrderOfTheEnum) {
  const auto& table = statistic_table();
  ASSERT_EQ(table.size(), 16U);
  for (std::size_t i = 0; i < 14; ++i)
    EXPECT_EQ(static_cast<std::size_t>(table[i].statistic), i) << table[i].name;
  EXPECT_EQ(table[4].name, "negative zero count");
  EXPECT_EQ(table[4].column, "Negative Zero Count");
  EXPECT_EQ(table[6].column, "NaN Count");
  EXPECT_EQ(table[10].column, "MD5");
  EXPECT_EQ(table[11].column, "L2Norm Value");
  EXPECT_EQ(table[12].column, "SHA1");
  EXPECT_EQ(table[13].column, "XXH128");
  EXPECT_EQ(table[14].statistic, Statistic::sha1);
  EXPECT_EQ(table[15].statistic, Statistic::md5);
}

TEST(Describe, TellsThePlanInAlignedLines) {
  DumpPlan plan = make_plan();
  plan.content = Content::both;
  plan.sides = Sides::outputs;
  plan.steps = StepSet::none();
  plan.steps.add(0, 0);
  plan.steps.add(5, 8);
  plan.devices = {0, 3};
  ASSERT_TRUE(plan.operators.add(RuleKind::type, "conv"));
  ASSERT_TRUE(plan.operators.add(RuleKind::regex, "Default/.+"));
  EXPECT_EQ(describe(plan),
            "config      /data/data_dump.json (mindspore)\n"
            "saves       tensors and statistics of outputs\n"
            "statistics  max, min, l2norm; on the host\n"
            "steps       0|5-8\n"
            "operators   type conv\n"
            "            regex Default/.+\n"
            "devices     0, 3\n"
            "writes      /data/run/rank_R/Net/GRAPH/STEP/"
            "OPTYPE.OPNAME.0.STREAM.MICROSECONDS.output.INDEX.DefaultFormat.float32.npy\n"
            "            /data/run/rank_R/Net/GRAPH/STEP/statistic.csv\n");
}

TEST(Describe, SaysOnlyWhatApplies) {
  DumpPlan plan = make_plan();
  EXPECT_THAT(describe(plan), Not(HasSubstr("statistic")));
  plan.debug = DebugMode::overflow;
  plan.overflow_limit = 3;
  plan.sample_count = 100;
  plan.initial_step = 7;
  plan.class_name_dtypes = true;
  plan.default_format = false;
  const std::string text = describe(plan);
  EXPECT_THAT(text,
              HasSubstr("only if     an output of the operator has a NaN or an infinity, the first 3\n"));
  EXPECT_THAT(text, HasSubstr("sample      the first 100 elements"));
  EXPECT_THAT(text, HasSubstr("steps       all, counted from 7\n"));
  EXPECT_THAT(text, HasSubstr(".INDEX.FORMAT.Float32.npy\n"));
}

// What MindSpore dumps on a CPU where no operator fails.
TEST(Describe, NamesTheFilesOfParameters) {
  DumpPlan plan = make_plan();
  plan.debug = DebugMode::exception;
  plan.sides = Sides::inputs;
  plan.parameters = plan.input_parameters = plan.class_name_dtypes = true;
  EXPECT_THAT(describe(plan),
              HasSubstr("only if     the operator raises an error\n"
                        "parameters  weights and inputs of the graph, at the end of each step\n"));
  EXPECT_THAT(describe(plan),
              HasSubstr("MICROSECONDS.input.INDEX.DefaultFormat.Float32.npy\n"
                        "            /data/run/rank_R/Net/GRAPH/STEP/"
                        "Parameter.NAME.0.STREAM.MICROSECONDS.output.0.DefaultFormat.Float32.npy\n"));
}

TEST(Describe, ShowsTheOtherLayouts) {
  DumpPlan plan = make_plan();
  plan.scheme = SchemeKind::model_tree;
  plan.file_format = FileFormat::bin;
  EXPECT_THAT(describe(plan), HasSubstr("/data/run/STEP/TIME/DEVICE/MODEL/ID/STEP/"
                                        "OPTYPE.OPNAME.TASK.STREAM.MICROSECONDS\n"));
  plan.scheme = SchemeKind::time_tree;
  plan.file_format = FileFormat::npy;
  EXPECT_THAT(describe(plan), HasSubstr("/data/run/TIME/DEVICE/MODEL/ID/STEP/OPTYPE"));
}

TEST(Describe, CutsALongListOfRules) {
  DumpPlan plan = make_plan();
  for (int i = 0; i < 25; ++i)
    ASSERT_TRUE(plan.operators.add(RuleKind::name, "Default/op" + std::to_string(i)));
  EXPECT_THAT(describe(plan), HasSubstr("name Default/op9\n            and 15 more\n"));
}

TEST(DescribeJson, HasEveryField) {
  DumpPlan plan = make_plan();
  plan.sides = Sides::inputs;
  plan.debug = DebugMode::exception;
  plan.devices = {1};
  plan.warnings = {"a:1:2: something"};
  ASSERT_TRUE(plan.operators.add(RuleKind::regex_search, "x\"y"));
  const auto json = nlohmann::json::parse(describe_json(plan));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["content"], "tensor");
  EXPECT_EQ(json["sides"], "inputs");
  EXPECT_EQ(json["debug"], "exception");
  EXPECT_EQ(json["devices"], nlohmann::json::array({1}));
  EXPECT_EQ(json["operators"][0]["kind"], "regex search");
  EXPECT_EQ(json["operators"][0]["text"], "x\"y");
  EXPECT_EQ(json["statistics"], (nlohmann::json{"max", "min", "l2norm"}));
  EXPECT_EQ(json["layout"], "rank_tree");
  EXPECT_EQ(json["root"], "/data/run");
  EXPECT_EQ(json["warnings"][0], "a:1:2: something");
}

TEST(DescribeJson, IsUtf8WhateverThePath) {
  DumpPlan plan = make_plan();
  plan.root = "/data/\xff";
  EXPECT_TRUE(nlohmann::json::accept(describe_json(plan)));
}

}  // namespace
}  // namespace opdump::plan
