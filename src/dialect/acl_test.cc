#include "dialect/acl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "dialect/dialects.h"
#include "dialect/options_test.h"

namespace opdump::dialect {
namespace {

using plan::Statistic;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Result<plan::DumpPlan> compile(std::string text, bool strict = false, Variables variables = {}) {
  return make_plan("acl.json", std::move(text), "acl",
                   make_options(strict, Mode::automatic, std::move(variables)));
}

plan::DumpPlan must_compile(std::string text, bool strict = false, Variables variables = {}) {
  auto plan = compile(std::move(text), strict, std::move(variables));
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? std::move(*plan) : plan::DumpPlan();
}

std::string complaint(std::string text, bool strict = false, Variables variables = {}) {
  const auto plan = compile(std::move(text), strict, std::move(variables));
  return plan ? "" : plan.error().message();
}

// {"dump": {"dump_path": "/tmp", ...}}
std::string in_tmp(const std::string& rest) { return R"({"dump": {"dump_path": "/tmp", )" + rest + "}}"; }

TEST(Acl, TheDocumentationsExample) {
  const std::string text = R"({"dump": {"dump_list": [{"model_name": "ResNet-101"},
      {"model_name": "ResNet-50", "layer": ["conv1conv1_relu", "pool1"]}],
      "dump_path": "$HOME/output", "dump_mode": "output", "dump_op_switch": "off", "dump_data": "tensor"}})";
  const auto home = std::filesystem::temp_directory_path() / "opdump-acl-home";
  std::filesystem::create_directories(home / "output");
  const auto plan = must_compile(text, false, {{"HOME", home.string()}});
  EXPECT_EQ(plan.root, std::filesystem::canonical(home / "output"));
  ASSERT_EQ(plan.models.rules().size(), 2u);
  EXPECT_THAT(plan.models.rules()[1].operators, ElementsAre("conv1conv1_relu", "pool1"));
  EXPECT_FALSE(plan.models.rules()[0].lists_operators);
  EXPECT_TRUE(plan.warnings.empty());
  std::filesystem::remove_all(home);
}

TEST(Acl, MessagesSayWhereWhatAndWhatElse) {
  EXPECT_EQ(complaint(in_tmp("\n\"dump_mode\": \"al\"")),
            "acl.json:2:14: EP0002: the value \"al\" of the item dump_mode is invalid; supported are "
            "input/output/all; did you mean \"all\"?");
  EXPECT_EQ(
      complaint(R"({"dump": {"dump_path": 7}})"),
      "acl.json:1:24: EP0001: the content of the item dump_path is invalid: it is 7, and should be a string");
  EXPECT_EQ(
      complaint(in_tmp(R"("dump_debug": "on", "dump_op_switch": "on")")),
      "acl.json:1:70: EP0005: the items dump_debug and dump_op_switch conflict: dump_debug is \"on\" and "
      "dump_op_switch \"on\"");
  EXPECT_THAT(
      complaint(R"({"dump": {"dump_path": "/nonexistent/d", "dump_list": [{}]}})"),
      HasSubstr("EP0003: the value \"/nonexistent/d\" of the item dump_path is invalid: there is no such "
                "directory; create it: mkdir -p '/nonexistent/d'"));
  EXPECT_THAT(complaint(R"({"dump": {"dump_list": [{}]}})"),
              HasSubstr("EP0001: the content of the item dump_path"));
  // A page's own example: commas are missing, and it has a comment.
  EXPECT_THAT(complaint("{\n \"dump\":\n {\n  \"dump_list\":[]\n  \"dump_path\":\"./out\"# here\n }\n}"),
              testing::AllOf(StartsWith("acl.json:5:13: EP0004: the file cannot be parsed: "),
                             HasSubstr("is a comma missing before it?")));
}

TEST(Acl, UnknownKeysAreToldWithTheirPlace) {
  EXPECT_THAT(must_compile(R"({"dumps": {}, "profiler": {}})").warnings,
              ElementsAre("acl.json:1:2: unknown key \"dumps\"; did you mean \"dump\"?"));
  EXPECT_THAT(must_compile(R"({"dump_path": "/tmp"})").warnings,
              ElementsAre("acl.json:1:2: unknown key \"dump_path\"; it belongs in the object dump"));
  EXPECT_THAT(must_compile(in_tmp(R"("dump_level": "op", "layer": [], "dump_list": [{"model_nam": "a",
          "dump_mode": "all", "opname_blacklist": [{"nam": "x", "pos": ["input0"]}]}])"))
                  .warnings,
              testing::IsSupersetOf({HasSubstr("unknown key \"layer\"; it belongs in an item of dump_list"),
                                     HasSubstr("unknown key \"dump_mode\"; it belongs in the object dump"),
                                     HasSubstr("unknown key \"model_nam\"; did you mean \"model_name\"?"),
                                     HasSubstr("unknown key \"nam\"; did you mean \"name\"?")}));
  EXPECT_THAT(must_compile(in_tmp("\"dump_list\": [{}],\n\"dump_path\": \"/tmp\"")).warnings,
              ElementsAre("acl.json:2:1: the key \"dump_path\" is repeated; the last one counts"));
}

TEST(Acl, PathsAreExpandedUnlessStrict) {
  const std::string text = R"({"dump": {"dump_path": "${BASE}/../tmp", "dump_list": [{}]}})";
  EXPECT_EQ(must_compile(text, false, {{"BASE", "/usr"}}).root, "/tmp");
  EXPECT_THAT(complaint(text), HasSubstr("the environment has no variable BASE"));
  EXPECT_THAT(complaint(text, true, {{"BASE", "/usr"}}), HasSubstr("EP0003"));
  EXPECT_EQ(
      must_compile(R"({"dump": {"dump_path": "~", "dump_list": [{}]}})", false, {{"HOME", "/tmp"}}).root,
      "/tmp");
  EXPECT_THAT(complaint(R"({"dump": {"dump_path": "192.168.0.1:/d", "dump_list": [{}]}})"),
              HasSubstr("directories of this machine only"));
}

// The original takes the text of the path as it stands.
TEST(Acl, AStrictReadingExpandsNothing) {
  const Variables home{{"HOME", "/tmp"}};
  for (const char* path : {"$HOME", "${HOME}", "~", "~/.", "$HOME/output"}) {
    const std::string text = std::string(R"({"dump": {"dump_path": ")") + path + R"(", "dump_list": [{}]}})";
    EXPECT_EQ(complaint(text, true, home),
              std::string("acl.json:1:24: EP0003: the value \"") + path +
                  "\" of the item dump_path is invalid: there is no such directory; create it: mkdir -p '" +
                  path + "'; a strict reading expands neither variables nor ~");
  }
  EXPECT_EQ(must_compile(R"({"dump": {"dump_path": "~/.", "dump_list": [{}]}})", false, home).root, "/tmp");
  EXPECT_THAT(complaint(R"({"dump": {"dump_path": "$HOME/nowhere", "dump_list": [{}]}})", false, home),
              HasSubstr("create it: mkdir -p '/tmp/nowhere'"));
}

TEST(Acl, NothingToDo) {
  for (const char* text :
       {"", " \n", "{}", R"({"other": 1})", R"({"dump": {}})", R"({"dump": {"dump_path": "/tmp"}})"})
    EXPECT_TRUE(must_compile(text).is_empty) << text;
}

TEST(Acl, LimitsOfTheFile) {
  EXPECT_EQ(compile(std::string(10 << 20, ' ') + "{}").error().number(), kAclInvalidFile);
  const auto deep = compile(R"({"dump": )" + std::string(11, '[') + std::string(11, ']') + "}");
  EXPECT_EQ(deep.error().number(), kAclParseFile);
  EXPECT_THAT(deep.error().message(), HasSubstr("more than 10 nested '['"));
  EXPECT_TRUE(must_compile(R"({"other": ")" + std::string(11, '{') + "\"}").is_empty) << "braces in a string";
}

TEST(Acl, RecognisedByItsContent) {
  const auto options = make_options(false);
  const auto plan = make_plan("f", R"({"dump": {}})", "", options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->dialect, "acl");
  EXPECT_THAT(make_plan("f", R"({"dump": )", "", options).error().message(), HasSubstr("EP0004"));
  EXPECT_EQ(load_plan("/nonexistent/acl.json", "acl", options).error().number(), kAclInvalidFile);
}

TEST(Acl, ContentAndSteps) {
  const auto plan = must_compile(in_tmp(
      R"("dump_list": [{}], "dump_mode": "all", "dump_data": "stats", "dump_stats": ["L2norm", "Max"], "dump_step": "0|5-10")"));
  EXPECT_EQ(plan.sides, plan::Sides::both);
  EXPECT_EQ(plan.content, plan::Content::statistics);
  EXPECT_THAT(plan.statistics, ElementsAre(Statistic::count, Statistic::max, Statistic::l2norm));
  EXPECT_EQ(plan.steps.format(), "0|5-10");
  EXPECT_EQ(must_compile(in_tmp(R"("dump_list": [{}])")).sides, plan::Sides::outputs);
}

TEST(Acl, ModelsAndOperatorsOfNone) {
  const auto named = must_compile(in_tmp(R"("dump_list": [{"model_name": "m", "layer": ["a"]}])"));
  EXPECT_TRUE(named.models.selects_models() && !named.models.selects_single_operators());
  const auto all = must_compile(in_tmp(R"("dump_list": [{}])"));
  EXPECT_TRUE(all.models.selects_models() && all.models.selects_single_operators());
  const auto switched = must_compile(in_tmp(R"("dump_list": [], "dump_op_switch": "on")"));
  EXPECT_TRUE(switched.models.selects_models() && switched.models.selects_single_operators());
  const auto kernels = must_compile(in_tmp(R"("dump_list": [{}], "dump_level": "kernel")"));
  EXPECT_TRUE(!kernels.models.selects_models() && kernels.models.selects_single_operators());
  const auto empty = must_compile(in_tmp(R"("dump_list": [])"));
  EXPECT_TRUE(!empty.is_empty && !empty.models.selects_models() && empty.models.selects_single_operators());
  EXPECT_TRUE(must_compile(in_tmp(R"("dump_list": [])"), true).is_empty);
}

TEST(Acl, BlacklistsAndRanges) {
  const auto plan = must_compile(in_tmp(R"("dump_level": "op", "dump_list": [{"model_name": "m",
      "optype_blacklist": [{"name": "Conv2D", "pos": ["input1", "in"]}, {"name": "Relu", "pos": []}],
      "opname_range": [{"begin": "a", "end": "b"}]}])"));
  const plan::ModelRule& rule = plan.models.rules()[0];
  ASSERT_EQ(rule.by_type.size(), 1u);
  EXPECT_THAT(rule.by_type[0].slots, ElementsAre(plan::SlotPosition{model::Side::input, 1}));
  EXPECT_EQ(rule.ranges[0].last, "b");
  EXPECT_EQ(plan.warnings.size(), 2u);
}

TEST(Acl, ExceptionsGoWhereTheEnvironmentSays) {
  const std::string text = R"({"dump": {"dump_scene": "lite_exception", "dump_path": "/a"}})";
  EXPECT_EQ(must_compile(text).root, "/a");
  EXPECT_EQ(must_compile(text, false, {{"ASCEND_WORK_PATH", "/w"}}).root, "/w");
  EXPECT_EQ(must_compile(text, false, {{"ASCEND_WORK_PATH", "/w"}, {"ASCEND_DUMP_PATH", "/d"}}).root, "/d");
  EXPECT_EQ(must_compile(text).sides, plan::Sides::inputs);
  EXPECT_EQ(
      must_compile("{}", false, {{"ASCEND_DUMP_SCENE", "aic_err_brief_dump"}, {"ASCEND_DUMP_PATH", "/d"}})
          .debug,
      plan::DebugMode::exception);
  const Variables collect{{"NPU_COLLECT_PATH", "/c"}};
  EXPECT_EQ(must_compile("", false, collect).root, "/c");
  EXPECT_TRUE(must_compile("", true, collect).is_empty);
  EXPECT_EQ(must_compile(in_tmp(R"("dump_list": [{}])"), false, collect).root, "/tmp")
      << "a data dump stays one";
}

TEST(Acl, OverflowAndItsRecord) {
  const auto plan = must_compile(in_tmp(R"("dump_debug": "on")"), false, {{"OPDUMP_OVERFLOW_RECORD", "new"}});
  EXPECT_EQ(plan.debug, plan::DebugMode::overflow);
  EXPECT_EQ(plan.sides, plan::Sides::both);
  EXPECT_EQ(plan.overflow_record, plan::OverflowRecord::new_devices);
}

TEST(Acl, DeviceFormats) {
  const std::string text = in_tmp(R"("dump_list": [{}])");
  EXPECT_THAT(must_compile(text, false, {{"OPDUMP_DEVICE_FORMAT", "NC1HWC0, FRACTAL_NZ"}}).device_formats,
              ElementsAre(model::Format::nc1hwc0, model::Format::fractal_nz));
  EXPECT_THAT(complaint(text, false, {{"OPDUMP_DEVICE_FORMAT", "NC1"}}),
              HasSubstr("expected formats such as"));
}

}  // namespace
}  // namespace opdump::dialect
