#include "dialect/mindspore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "dialect/json_section.h"
#include "dialect/options_test.h"

namespace opdump::dialect {
namespace {

using plan::Content;
using plan::DebugMode;
using plan::DumpPlan;
using plan::FileFormat;
using plan::Layout;
using plan::Place;
using plan::Sides;
using plan::Statistic;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Result<DumpPlan> compile(std::string text, const Options& options) {
  OPDUMP_TRY(const JsonDocument document, JsonDocument::parse("f.json", std::move(text)));
  return compile_mindspore(document, options);
}

// A complete configuration, one key to a line, in which single values are replaced.
struct Config {
  std::map<std::string, std::string> common{
      {"dump_mode", "0"},    {"path", "\"/data\""}, {"net_name", "\"Net\""},   {"iteration", "\"all\""},
      {"input_output", "0"}, {"kernels", "[]"},     {"support_device", "[0]"}, {"op_debug_mode", "0"},
  };
  std::map<std::string, std::string> e2e{{"enable", "true"}};
  bool has_e2e = true;

  // Sets a key, of e2e_dump_settings if it begins with "e2e."; an empty value removes it.
  Config& set(std::string key, const std::string& value) {
    const bool in_e2e = key.starts_with("e2e.");
    auto& section = in_e2e ? e2e : common;
    if (in_e2e) key.erase(0, 4);
    if (value.empty())
      section.erase(key);
    else
      section[key] = value;
    return *this;
  }

  Config& offline() {
    has_e2e = false;
    return *this;
  }

  std::string text() const {
    std::string out = "{\"common_dump_settings\": {";
    append(out, common);
    out += "}";
    if (has_e2e) {
      out += ",\n\"e2e_dump_settings\": {";
      append(out, e2e);
      out += "}";
    }
    return out + "}\n";
  }

  static void append(std::string& out, const std::map<std::string, std::string>& section) {
    const char* separator = "\n";
    for (const auto& [key, value] : section) {
      out += separator + ("\"" + key + "\": ") + value;
      separator = ",\n";
    }
  }
};

// "" or the error's text without the position.
std::string complaint(const Config& config, const Options& options) {
  const auto plan = compile(config.text(), options);
  if (plan) return "";
  EXPECT_EQ(plan.error().code(), Code::config);
  EXPECT_THAT(plan.error().message(), StartsWith("f.json:"));
  return plan.error().message();
}

DumpPlan must_compile(const Config& config, const Options& options) {
  auto plan = compile(config.text(), options);
  EXPECT_TRUE(plan) << plan.error().message() << "\n" << config.text();
  return plan ? std::move(*plan) : DumpPlan();
}

// One key with one value, and what becomes of it. Empty text: accepted; otherwise part of the error.
struct Rule {
  const char* key;
  const char* value;
  const char* lenient;
  const char* strict;
  Mode mode = Mode::automatic;
};

void check_rules(std::span<const Rule> rules, Config base) {
  for (const Rule& rule : rules) {
    Config config = base;
    config.set(rule.key, rule.value);
    for (const bool strict : {false, true}) {
      const std::string expected = strict ? rule.strict : rule.lenient;
      const std::string message = complaint(config, make_options(strict, rule.mode));
      SCOPED_TRACE(std::string(rule.key) + ": " + rule.value + (strict ? ", strict" : ""));
      if (expected.empty())
        EXPECT_EQ(message, "");
      else
        EXPECT_THAT(message, HasSubstr(expected));
    }
  }
}

TEST(MindsporeRules, EveryCommonKey) {
  const char* const kNotUint = "should be unsigned int type";
  const char* const kNotString = "should be string type";
  const char* const kNotArray = "should be array type";
  const Rule rules[] = {
      {"dump_mode", "0", "", ""},
      {"dump_mode", "1", "", ""},
      {"dump_mode", "2", "", ""},
      {"dump_mode", "3", "dump_mode is 3; should be 0 (all", "dump_mode is 3; should be 0 (all"},
      {"dump_mode", "-1", kNotUint, kNotUint},
      {"dump_mode", "1.0", kNotUint, kNotUint},
      {"dump_mode", "\"1\"", "dump_mode is \"1\"; should be unsigned int type", kNotUint},
      {"dump_mode", "true", kNotUint, kNotUint},
      {"dump_mode", "null", kNotUint, kNotUint},
      {"dump_mode", "[0]", "dump_mode is an array;", kNotUint},
      {"dump_mode", "4294967297", "at most 4294967295", ""},
      {"dump_mode", "18446744073709551616", kNotUint, kNotUint},
      {"dump_mode", "", "dump_mode not found", "dump_mode not found"},
      {"dump_mode", "2", "", "set_dump is only supported in Ascend", Mode::cpu},
      {"dump_mode", "2", "", "set_dump is only supported in Ascend", Mode::gpu},
      {"path", "5", kNotString, kNotString},
      {"path", "\"/a.b\"", "", "path only supports alphabets"},
      {"path", "\"a\"", "", "should start with '/'"},
      {"path", "\"\"", "MS_DIAGNOSTIC_DATA_PATH", "path is empty"},
      {"path", "", "MS_DIAGNOSTIC_DATA_PATH", "path is empty"},
      {"net_name", "5", kNotString, kNotString},
      {"net_name", "\"a b\"", "net_name is \"a b\"; net_name only supports", "net_name only supports"},
      {"net_name", "\"\"", "net_name only supports", "net_name only supports"},
      {"net_name", "", "net_name not found", "net_name not found"},
      {"iteration", "3", kNotString, kNotString},
      {"iteration", "\"0|5-8\"", "", ""},
      {"iteration", "\"0 | 5-8\"", "", "iteration only supports digits"},
      {"iteration", "\"8-5\"", "iteration is \"8-5\"; the range", ""},
      {"iteration", "\"ALL\"", "iteration only supports digits", "iteration only supports digits"},
      {"iteration", "", "", "iteration not found"},
      {"input_output", "2", "", ""},
      {"input_output", "3", "input_output is 3; should be 0 (both), 1 (inputs) or 2", "should be 0 (both)"},
      {"input_output", "\"0\"", kNotUint, kNotUint},
      {"input_output", "4294967296", "at most 4294967295", ""},
      {"input_output", "", "", "input_output not found"},
      {"kernels", "\"conv\"", kNotArray, kNotArray},
      {"kernels", "{}", "kernels is an empty object; should be array type", kNotArray},
      {"kernels", "", "", "kernels not found"},
      {"support_device", "0", kNotArray, kNotArray},
      {"support_device", "[0, 7]", "", ""},
      {"support_device", "[0, \"1\"]", "support_device[1] is \"1\";", "support_device[1] is \"1\";"},
      {"support_device", "[true]", kNotUint, ""},
      {"support_device", "[1.5]", kNotUint, ""},
      {"support_device", "[-1]", kNotUint, ""},
      {"support_device", "[1e30]", kNotUint, kNotUint},
      {"support_device", "[4294967296]", kNotUint, ""},
      {"support_device", "[null]", kNotUint, kNotUint},
      {"support_device", "", "", "support_device not found"},
      {"op_debug_mode", "3", "", ""},
      {"op_debug_mode", "4", "", ""},
      {"op_debug_mode", "1", "", ""},
      {"op_debug_mode", "5", "op_debug_mode is 5; should be 0 (none), 3", "should be 0 (none), 3"},
      {"op_debug_mode", "\"3\"", kNotUint, kNotUint},
      {"op_debug_mode", "", "", ""},
      {"file_format", "5", "", ""},  // not even looked at beside e2e_dump_settings
      {"overflow_number", "3", "when op_debug_mode is 3", "when op_debug_mode is 3"},
      {"saved_data", "\"tensor\"", "", ""},
      {"saved_data", "\"statistic\"", "", ""},
      {"saved_data", "\"full\"", "", ""},
      {"saved_data", "\"full\"", "", "only supported on GPU and Ascend", Mode::cpu},
      {"saved_data", "\"full\"", "", "", Mode::gpu},
      {"saved_data", "\"statistics\"", "or full; did you mean \"statistic\"?", "saved_data only supports"},
      {"saved_data", "1", kNotString, kNotString},
      {"statistic_category", "5", "", ""},  // only read if statistics are saved
      {"initial_iteration", "7", "", ""},
      {"initial_iteration", "-7", kNotUint, kNotUint},
  };
  check_rules(rules, Config());
}

TEST(MindsporeRules, EveryE2eKey) {
  const char* const kNotBool = "should be boolean type";
  const Rule rules[] = {
      {"e2e.enable", "false", "", ""},
      {"e2e.enable", "1", "enable is 1; should be boolean type", kNotBool},
      {"e2e.enable", "", "", ""},
      {"e2e.trans_flag", "false", "", ""},
      {"e2e.trans_flag", "\"true\"", "trans_flag is \"true\"; should be boolean", kNotBool},
      {"e2e.save_kernel_args", "true", "", ""},
      {"e2e.save_kernel_args", "null", kNotBool, kNotBool},
      {"e2e.stat_calc_mode", "\"host\"", "", ""},
      {"e2e.stat_calc_mode", "\"device\"", "", ""},
      {"e2e.stat_calc_mode", "\"gpu\"", "only supports host or device", "only supports host"},
      {"e2e.stat_calc_mode", "0", "should be string type", "should be string type"},
      {"e2e.device_stat_precision_mode", "\"low\"", "", ""},
      {"e2e.device_stat_precision_mode", "\"mid\"", "only supports high or low", "only supports"},
      {"e2e.sample_mode", "1", "", ""},
      {"e2e.sample_mode", "2", "sample_mode is 2; should be 0 (whole", "should be 0 (whole"},
      {"e2e.sample_mode", "false", "should be unsigned int type", "should be unsigned int type"},
      {"e2e.sample_num", "0", "", ""},  // only read if sample_mode is 1
      {"e2e.sample_num", "\"x\"", "", ""},
  };
  check_rules(rules, Config());
  const Rule sample_rules[] = {
      {"e2e.sample_num", "5", "", ""},
      {"e2e.sample_num", "0", "sample_num is 0; should be greater than 0", "should be greater than 0"},
      {"e2e.sample_num", "4294967296", "at most 4294967295", "should be greater than 0"},
      {"e2e.sample_num", "\"5\"", "should be unsigned int type", "should be unsigned int type"},
  };
  check_rules(sample_rules, Config().set("e2e.sample_mode", "1"));
}

TEST(MindsporeRules, WithoutE2eSettings) {
  const Rule rules[] = {
      {"op_debug_mode", "", "", "op_debug_mode not found"},
      {"file_format", "\"npy\"", "", ""},
      {"file_format", "\"bin\"", "", ""},
      {"file_format", "\"h5\"", "file_format only supports npy or bin", "only supports"},
      {"file_format", "1", "should be string type", "should be string type"},
      {"saved_data", "\"statistic\"", "only supported when file_format is \"npy\"", "only supported when"},
      {"op_debug_mode", "4", "op_debug_mode is 4; should be 0 (none), 1", "should be 0 (none), 1", Mode::ge},
      {"op_debug_mode", "2", "", "", Mode::ge},
      {"dump_mode", "2", "", "set_dump is not supported in GE dump", Mode::ge},
      {"dump_mode", "2", "", "", Mode::o2},
  };
  check_rules(rules, Config().offline());
  const Rule statistic_rules[] = {{"saved_data", "\"full\"", "", ""}};
  check_rules(statistic_rules, Config().offline().set("file_format", "\"npy\""));
}

TEST(MindsporeRules, OverflowNumber) {
  const Rule rules[] = {
      {"overflow_number", "3", "", ""},
      {"overflow_number", "-3", "should be unsigned int type", "should be unsigned int type"},
      {"overflow_number", "4294967296", "at most 4294967295", ""},
  };
  check_rules(rules, Config().set("op_debug_mode", "3"));
  check_rules(rules, Config().set("op_debug_mode", "1"));
  EXPECT_NE(complaint(Config().set("op_debug_mode", "4").set("overflow_number", "1"), make_options(false)),
            "");
  EXPECT_NE(complaint(Config().offline().set("op_debug_mode", "1").set("overflow_number", "1"),
                      make_options(false, Mode::ge)),
            "");
}

TEST(MindsporeRules, StatisticCategory) {
  const Rule rules[] = {
      {"statistic_category", "[]", "", ""},
      {"statistic_category", "\"max\"", "should be array type", "should be array type"},
      {"statistic_category", "[\"max\", 5]", "statistic_category[1] is 5; should be string",
       "should be string"},
      {"statistic_category", "[\"Max\"]", "[0] is \"Max\"; valid are max, min", "valid are max, min"},
      {"statistic_category", "[\"min\", \"mean\"]", "[1] is \"mean\"; valid", "[1] is \"mean\"; valid"},
  };
  check_rules(rules, Config().set("saved_data", "\"statistic\""));
}

TEST(MindsporeRules, Kernels) {
  const Rule rules[] = {
      {"kernels", R"j(["Default/Conv-op12", "conv", "name-regex(Default/.+)"])j", "", ""},
      {"kernels", R"j(["conv", "name-regex(Default/[)"])j", "kernels[1] is \"name-regex(Default/[)\";",
       "is not a regular expression"},
      {"kernels", "[5]", "kernels[0] is 5; should be string type", ""},
      {"kernels", R"j(["name-regex(abc"])j", "should end with", ""},
  };
  check_rules(rules, Config().set("dump_mode", "1"));
  const Rule unused_rules[] = {{"kernels", R"j([5, "name-regex([)"])j", "", ""}};
  check_rules(unused_rules, Config().set("dump_mode", "0"));
}

TEST(MindsporePlan, DefaultsAreTheDocumentedOnes) {
  const DumpPlan plan = must_compile(Config(), make_options(true));
  EXPECT_EQ(plan.content, Content::tensor);
  EXPECT_EQ(plan.sides, Sides::both);
  EXPECT_TRUE(plan.steps.is_all());
  EXPECT_TRUE(plan.operators.selects_all());
  EXPECT_THAT(plan.devices, ElementsAre(0U));
  EXPECT_THAT(plan.statistics, ElementsAre(Statistic::max, Statistic::min, Statistic::l2norm));
  EXPECT_EQ(plan.statistics_place, Place::host);
  EXPECT_EQ(plan.sample_count, 0U);
  EXPECT_EQ(plan.debug, DebugMode::none);
  EXPECT_FALSE(plan.operator_arguments);
  EXPECT_TRUE(plan.default_format);
  EXPECT_TRUE(plan.synchronous);
  EXPECT_EQ(plan.layout, Layout::rank_tree);
  EXPECT_EQ(plan.file_format, FileFormat::npy);
  EXPECT_EQ(plan.root, "/data");
  EXPECT_EQ(plan.net_name, "Net");
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(MindsporePlan, EveryValueArrives) {
  Config config;
  config.set("dump_mode", "1")
      .set("kernels", R"j(["conv", "Default/Add-op1", "name-regex(.*Mul\\d?-op1)"])j");
  config.set("iteration", "\"0 | 5-8\"").set("input_output", "2").set("support_device", "[3, 1]");
  config.set("saved_data", "\"full\"").set("statistic_category", R"j(["md5", "max", "max"])j");
  config.set("initial_iteration", "9").set("e2e.trans_flag", "false").set("e2e.save_kernel_args", "true");
  config.set("e2e.sample_mode", "1").set("e2e.device_stat_precision_mode", "\"low\"");
  DumpPlan plan = must_compile(config, make_options(false));
  EXPECT_EQ(plan.content, Content::both);
  EXPECT_EQ(plan.sides, Sides::outputs);
  EXPECT_EQ(plan.steps.format(), "0|5-8");
  EXPECT_TRUE(plan.operators.wants("Default/Conv2D-op7"));
  EXPECT_TRUE(plan.operators.wants("Default/Add-op1"));
  EXPECT_TRUE(plan.operators.wants("Default/Mul2-op1"));
  EXPECT_FALSE(plan.operators.wants("Default/Mul2-op12"));
  EXPECT_THAT(plan.devices, ElementsAre(3U, 1U));
  EXPECT_THAT(plan.statistics, ElementsAre(Statistic::md5, Statistic::max, Statistic::max));
  EXPECT_EQ(plan.initial_step, 9U);
  EXPECT_FALSE(plan.default_format);
  EXPECT_TRUE(plan.operator_arguments);
  EXPECT_EQ(plan.sample_count, 100U);
  EXPECT_EQ(plan.statistics_precision, plan::Precision::low);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(MindsporePlan, OnlyFourKeysAreNeeded) {
  Config config;
  for (const char* key : {"iteration", "input_output", "kernels", "support_device", "op_debug_mode"})
    config.set(key, "");
  const DumpPlan plan = must_compile(config, make_options(false));
  EXPECT_TRUE(plan.steps.is_all());
  EXPECT_EQ(plan.sides, Sides::both);
  EXPECT_THAT(plan.devices, IsEmpty());
}

TEST(MindsporePlan, NarrowingIsTheOriginals) {
  const DumpPlan plan = must_compile(
      Config().set("input_output", "4294967298").set("support_device", "[4294967299, true, 2.9]"),
      make_options(true));
  EXPECT_EQ(plan.sides, Sides::outputs);
  EXPECT_THAT(plan.devices, ElementsAre(3U, 1U, 2U));
}

TEST(MindsporePlan, EmptyKernelsSelectEverything) {
  for (const char* kernels : {"[]", "[\"\"]", "[\" \"]"}) {
    const DumpPlan plan =
        must_compile(Config().set("dump_mode", "1").set("kernels", kernels), make_options(false));
    EXPECT_TRUE(plan.operators.selects_all());
    EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("selects all of them")));
  }
}

TEST(MindsporePlan, RegexIsAPartialMatchForO2AndDoubledIfStrict) {
  Config config;
  config.set("dump_mode", "1").set("kernels", R"j(["name-regex(Conv)"])j");
  EXPECT_FALSE(must_compile(config, make_options(false)).operators.wants("Default/Conv2D-op1"));
  EXPECT_TRUE(must_compile(config.offline(), make_options(false)).operators.wants("Default/Conv2D-op1"));
  Config digits;
  digits.set("dump_mode", "1").set("kernels", R"j(["name-regex(Conv\\d)"])j");
  EXPECT_TRUE(must_compile(digits, make_options(false)).operators.wants("Conv7"));
  EXPECT_FALSE(must_compile(digits, make_options(true)).operators.wants("Conv7"));
  EXPECT_TRUE(must_compile(digits, make_options(true)).operators.wants("Conv\\d"));
}

TEST(MindsporePlan, DuplicatesAreWarnedAbout) {
  Config config;
  config.set("dump_mode", "1").set("kernels", "[\"conv\", \"conv\"]").set("support_device", "[2, 2]");
  const DumpPlan plan = must_compile(config, make_options(true));
  EXPECT_EQ(plan.operators.rules().size(), 1U);
  EXPECT_THAT(plan.devices, ElementsAre(2U));
  EXPECT_THAT(plan.warnings,
              ElementsAre("f.json:5:21: duplicate kernel \"conv\"", "f.json:9:23: duplicate device 2"));
}

TEST(MindsporePlan, NoDevice) {
  Config config;
  config.set("support_device", "[]");
  EXPECT_EQ(must_compile(config, make_options(true)).steps.format(), "none");
  EXPECT_THAT(must_compile(config, make_options(true)).warnings, ElementsAre(HasSubstr("nothing will be")));
  EXPECT_TRUE(must_compile(config, make_options(false)).steps.is_all());
  EXPECT_TRUE(must_compile(config, make_options(true, Mode::cpu)).steps.is_all());
}

TEST(MindsporePath, EnvironmentOnlyIfEmpty) {
  const Variables variables{{"MS_DIAGNOSTIC_DATA_PATH", "/diag"}, {"HOME", "/home/me"}};
  for (const bool strict : {false, true}) {
    const Options options = make_options(strict, Mode::automatic, variables);
    EXPECT_EQ(must_compile(Config().set("path", ""), options).root, "/diag/debug_dump");
    EXPECT_EQ(must_compile(Config().set("path", "\"\""), options).root, "/diag/debug_dump");
    EXPECT_EQ(must_compile(Config(), options).root, "/data");
  }
  EXPECT_EQ(
      must_compile(Config().set("path", "\"~/a b\""), make_options(false, Mode::automatic, variables)).root,
      "/home/me/a b");
  const Options dotted = make_options(true, Mode::automatic, {{"MS_DIAGNOSTIC_DATA_PATH", "/a.b"}});
  EXPECT_THAT(complaint(Config().set("path", ""), dotted),
              HasSubstr("path is \"/a.b/debug_dump\" from MS_DIAGNOSTIC_DATA_PATH; path only supports"));
}

TEST(MindsporeDebug, ResetsDumpMode) {
  Config config;
  config.set("op_debug_mode", "3").set("dump_mode", "1").set("kernels", "[\"conv\"]");
  config.set("input_output", "1").set("overflow_number", "4");
  const DumpPlan plan = must_compile(config, make_options(true));
  EXPECT_EQ(plan.debug, DebugMode::overflow);
  EXPECT_EQ(plan.overflow_limit, 4U);
  EXPECT_TRUE(plan.operators.selects_all());
  EXPECT_EQ(plan.sides, Sides::both);
  EXPECT_THAT(plan.warnings,
              ElementsAre(HasSubstr("dump_mode is read as 0"), HasSubstr("input_output is read")));
  EXPECT_FALSE(must_compile(config.set("dump_mode", "2"), make_options(true)).only_flagged_operators);
}

TEST(MindsporeDebug, ExceptionKeepsInputsOfAllSteps) {
  Config config;
  config.set("op_debug_mode", "4").set("iteration", "\"3\"").set("saved_data", "\"full\"");
  config.set("e2e.sample_mode", "1");
  const DumpPlan plan = must_compile(config, make_options(true));
  EXPECT_EQ(plan.debug, DebugMode::exception);
  EXPECT_EQ(plan.sides, Sides::inputs);
  EXPECT_TRUE(plan.steps.is_all());
  EXPECT_EQ(plan.content, Content::tensor);
  EXPECT_EQ(plan.sample_count, 0U);
  EXPECT_EQ(plan.warnings.size(), 3U);
  config.set("input_output", "2");
  EXPECT_EQ(must_compile(config, make_options(true)).steps.format(), "none");
  EXPECT_EQ(must_compile(config, make_options(false)).sides, Sides::inputs);
}

TEST(MindsporeDebug, OnCpu) {
  const Config overflow = Config().set("op_debug_mode", "3");
  EXPECT_EQ(must_compile(overflow, make_options(true, Mode::cpu)).debug, DebugMode::none);
  EXPECT_EQ(must_compile(overflow, make_options(false, Mode::cpu)).debug, DebugMode::overflow);
  const Config exception = Config().set("op_debug_mode", "4");
  EXPECT_EQ(must_compile(exception, make_options(true, Mode::cpu)).steps.format(), "none");
  EXPECT_EQ(must_compile(exception, make_options(false, Mode::cpu)).debug, DebugMode::exception);
}

TEST(MindsporeStatistics, DeviceDropsWhatOnlyTheHostHas) {
  Config config;
  config.set("saved_data", "\"statistic\"").set("e2e.stat_calc_mode", "\"device\"");
  config.set("statistic_category", R"j(["md5", "avg", "zero count", "md5"])j");
  const DumpPlan plan = must_compile(config, make_options(true));
  EXPECT_EQ(plan.statistics_place, Place::device);
  EXPECT_THAT(plan.statistics, ElementsAre(Statistic::avg));
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("left out: md5, zero count")));
}

TEST(MindsporeStatistics, DeviceFallsBackToTheHost) {
  Config config;
  config.set("e2e.stat_calc_mode", "\"device\"");
  const auto place = [](const Config& c, Mode mode = Mode::automatic) {
    const DumpPlan plan = must_compile(c, make_options(true, mode));
    EXPECT_EQ(plan.warnings.size(), plan.statistics_place == Place::host ? 1U : 0U);
    return plan.statistics_place;
  };
  EXPECT_EQ(place(config), Place::host);
  EXPECT_EQ(place(config.set("saved_data", "\"full\"")), Place::host);
  EXPECT_EQ(place(config.set("saved_data", "\"statistic\"")), Place::device);
  EXPECT_EQ(place(config, Mode::gpu), Place::host);
  EXPECT_EQ(place(config.set("op_debug_mode", "3")), Place::device);
  EXPECT_EQ(place(config.set("e2e.enable", "false")), Place::host);
}

TEST(MindsporeMode, FollowsTheConfig) {
  const DumpPlan online = must_compile(Config(), make_options(false));
  EXPECT_EQ(online.layout, Layout::rank_tree);
  EXPECT_FALSE(online.run_metadata);
  const DumpPlan offline = must_compile(Config().offline(), make_options(false));
  EXPECT_EQ(offline.layout, Layout::model_tree);
  EXPECT_EQ(offline.file_format, FileFormat::bin);
  EXPECT_FALSE(offline.default_format);
  const Options ge = make_options(false, Mode::automatic, {{"ENABLE_MS_GE_DUMP", "1"}});
  EXPECT_EQ(must_compile(Config().offline(), ge).layout, Layout::time_tree);
  EXPECT_EQ(must_compile(Config(), ge).layout, Layout::rank_tree);
  const Options ge_off = make_options(false, Mode::automatic, {{"ENABLE_MS_GE_DUMP", "0"}});
  EXPECT_EQ(must_compile(Config().offline(), ge_off).layout, Layout::model_tree);
}

TEST(MindsporeMode, O2WithNpy) {
  const DumpPlan plan = must_compile(Config().offline().set("file_format", "\"npy\""), make_options(true));
  EXPECT_EQ(plan.file_format, FileFormat::npy);
  EXPECT_TRUE(plan.default_format);
}

TEST(MindsporeMode, O2IgnoresE2eSettings) {
  const Config config = Config().set("e2e.sample_mode", "1");
  const DumpPlan strict = must_compile(config, make_options(true, Mode::o2));
  EXPECT_EQ(strict.steps.format(), "none");
  const DumpPlan lenient = must_compile(config, make_options(false, Mode::o2));
  EXPECT_TRUE(lenient.steps.is_all());
  EXPECT_EQ(lenient.sample_count, 0U);
  EXPECT_THAT(lenient.warnings,
              ElementsAre("f.json:10:1: e2e_dump_settings does not apply to O2 and is ignored"));
}

TEST(MindsporeMode, CpuAndGpu) {
  for (const Mode mode : {Mode::cpu, Mode::gpu}) {
    // Without e2e_dump_settings and op_debug_mode, as on these machines the section counts as enabled.
    const DumpPlan plan = must_compile(Config().offline().set("op_debug_mode", ""), make_options(true, mode));
    EXPECT_EQ(plan.layout, Layout::rank_tree);
    EXPECT_EQ(plan.file_format, FileFormat::npy);
    EXPECT_TRUE(plan.synchronous);
    EXPECT_TRUE(plan.parameters);
    EXPECT_EQ(plan.input_parameters, mode == Mode::cpu);
    EXPECT_TRUE(plan.run_metadata);
    EXPECT_EQ(plan.class_name_dtypes, mode == Mode::cpu);
    EXPECT_EQ(plan.devices.empty(), mode == Mode::cpu);
  }
  const Config sampled = Config().set("e2e.sample_mode", "1").set("e2e.trans_flag", "false");
  const DumpPlan plan = must_compile(sampled, make_options(true, Mode::cpu));
  EXPECT_EQ(plan.sample_count, 0U);
  EXPECT_TRUE(plan.default_format);
  EXPECT_FALSE(must_compile(sampled, make_options(false, Mode::cpu)).default_format);
}

TEST(MindsporeMode, AsynchronousHasNoKernelArguments) {
  const Config config = Config().set("e2e.enable", "false").set("e2e.save_kernel_args", "true");
  const DumpPlan plan = must_compile(config, make_options(false));
  EXPECT_FALSE(plan.synchronous);
  EXPECT_FALSE(plan.operator_arguments);
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("save_kernel_args has no effect")));
}

TEST(MindsporePositions, OfValuesItemsAndKeys) {
  const char* text =
      "{\n"
      "  \"common_dump_settings\": {\n"
      "    \"dump_mode\": 1,\n"
      "    \"path\": \"/d\", \"net_name\": \"n\",\n"
      "    \"itration\": \"3\",\n"
      "    \"a/b~c\": 1,\n"
      "    \"kernels\": [\"conv\",\n"
      "       \"name-regex(()\"]\n"
      "  },\n"
      "  \"e2e_dump_setting\": {}\n"
      "}\n";
  const auto plan = compile(text, make_options(false, Mode::o0));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message(),
            "f.json:8:8: kernels[1] is \"name-regex(()\"; \"(\" is not a regular expression: missing ): (");
  std::string good = text;
  good.replace(good.find("(()"), 3, "(a)");
  const auto second = compile(good, make_options(false, Mode::o0));
  ASSERT_TRUE(second);
  EXPECT_THAT(
      second->warnings,
      ElementsAre("f.json:10:3: unknown key \"e2e_dump_setting\"; did you mean \"e2e_dump_settings\"?",
                  "f.json:6:5: unknown key \"a/b~c\"; ignored",
                  "f.json:5:5: unknown key \"itration\"; did you mean \"iteration\"?",
                  HasSubstr("e2e_dump_settings is missing")));
}

TEST(MindsporePositions, OfWhatIsMissing) {
  const auto section = compile("\n {\"e2e_dump_settings\": {}}", make_options(true));
  ASSERT_FALSE(section);
  EXPECT_EQ(section.error().message(),
            "f.json:2:2: common_dump_settings not found; the configuration needs it");
  const auto typo = compile("{\"common_dump_setings\": {}}", make_options(false));
  ASSERT_FALSE(typo);
  EXPECT_THAT(typo.error().message(), HasSubstr("is \"common_dump_setings\" meant to be it?"));
  const auto key = compile("{\"common_dump_settings\": {\n\"dump_mod\": 0}}", make_options(false));
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().message(),
            "f.json:2:1: dump_mode not found in common_dump_settings, which needs it; is \"dump_mod\" meant "
            "to be it?");
  for (const char* text : {"{\"common_dump_settings\": 5}", "{\"common_dump_settings\": []}"}) {
    const auto other = compile(text, make_options(true));
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message(), HasSubstr("f.json:1:26: dump_mode not found"));
  }
  for (const char* text : {"5", "[]", "null", "\"common_dump_settings\""})
    EXPECT_FALSE(compile(text, make_options(true))) << text;
}

TEST(MindsporePositions, E2eMustBeAnObjectUnlessStrict) {
  Config config;
  config.has_e2e = false;
  std::string text = config.text();
  text.insert(text.rfind('}'), ", \"e2e_dump_settings\": true");
  EXPECT_TRUE(compile(text, make_options(true)));
  const auto refused = compile(text, make_options(false));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("e2e_dump_settings is true; should be an object"));
}

// Everything is wrong; repaired one after the other, the complaints come in the original's order.
TEST(MindsporeOrder, OfEvaluation) {
  Config config;
  config.common = {{"path", "5"},
                   {"iteration", "5"},
                   {"input_output", "7"},
                   {"kernels", "5"},
                   {"support_device", "5"},
                   {"op_debug_mode", "7"},
                   {"saved_data", "5"},
                   {"overflow_number", "5"},
                   {"initial_iteration", "\"x\""},
                   {"statistic_category", "5"},
                   {"dump_mode", "7"},
                   {"file_format", "5"}};
  config.e2e = {{"enable", "5"},
                {"trans_flag", "5"},
                {"save_kernel_args", "5"},
                {"stat_calc_mode", "5"},
                {"device_stat_precision_mode", "5"},
                {"sample_mode", "5"},
                {"sample_num", "0"}};
  const std::pair<const char*, const char*> repairs[] = {
      {"e2e.enable", "true"},
      {"e2e.trans_flag", "true"},
      {"e2e.save_kernel_args", "true"},
      {"e2e.stat_calc_mode", "\"host\""},
      {"e2e.device_stat_precision_mode", "\"low\""},
      {"e2e.sample_mode", "1"},
      {"e2e.sample_num", "1"},
      {"net_name", "5"},  // its absence comes before every wrong value
      {"dump_mode", "0"},
      {"path", "\"/d\""},
      {"net_name", "\"n\""},
      {"iteration", "\"all\""},
      {"input_output", "0"},
      {"kernels", "[]"},
      {"support_device", "[0]"},
      {"op_debug_mode", "0"},
      {"overflow_number", ""},
      {"saved_data", "\"full\""},
      {"initial_iteration", "0"},
      {"statistic_category", "[]"},
  };
  for (const auto& [key, value] : repairs) {
    const std::string name = std::string(key).starts_with("e2e.") ? key + 4 : key;
    EXPECT_THAT(complaint(config, make_options(true)), HasSubstr(": " + name + " "));
    config.set(key, value);
  }
  EXPECT_EQ(complaint(config, make_options(true)), "");
}

TEST(MindsporeOrder, PresenceInOrder) {
  Config config;
  config.offline().common.clear();
  for (const char* key :
       {"dump_mode", "net_name", "iteration", "input_output", "kernels", "support_device", "op_debug_mode"}) {
    EXPECT_THAT(complaint(config, make_options(true)), HasSubstr(std::string(key) + " not found"));
    config.set(key, "null");
  }
  EXPECT_THAT(complaint(config, make_options(true)), HasSubstr("dump_mode is null; should be unsigned int"));
}

TEST(MindsporeHostile, WarningsAreBounded) {
  Config config;
  for (int i = 0; i < 3000; ++i) config.set("key" + std::to_string(i), "1");
  const DumpPlan plan = must_compile(config, make_options(false));
  EXPECT_EQ(plan.warnings.size(), Warnings::kMax + 1);
  EXPECT_EQ(plan.warnings.back(), "f.json: and 2980 more warnings");
}

TEST(MindsporeHostile, LongAndDeepValues) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const char* key : {"dump_mode", "path", "net_name", "iteration", "kernels", "support_device",
                          "op_debug_mode", "e2e.enable", "unknown"})
    for (const bool strict : {false, true})
      static_cast<void>(compile(Config().set("dump_mode", "1").set(key, deep).text(), make_options(strict)));
  const std::string message =
      complaint(Config().set("net_name", "\"" + std::string(100'000, '.') + "\""), make_options(false));
  EXPECT_LT(message.size(), 300U);
}

}  // namespace
}  // namespace opdump::dialect
