#include "dialect/mindspore_config_test.h"

namespace opdump::dialect {
namespace {

using plan::Content;
using plan::DebugMode;
using plan::DumpPlan;
using plan::FileFormat;
using plan::Processor;
using plan::SchemeKind;
using plan::Sides;
using plan::Statistic;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MindsporePlan, DefaultsAreTheDocumentedOnes) {
  const DumpPlan plan = must_compile(Config(), make_options(true));
  EXPECT_EQ(plan.content, Content::tensor);
  EXPECT_EQ(plan.sides, Sides::both);
  EXPECT_TRUE(plan.steps.is_all());
  EXPECT_TRUE(plan.operators.selects_all());
  EXPECT_THAT(plan.devices, ElementsAre(0U));
  EXPECT_THAT(plan.statistics, ElementsAre(Statistic::max, Statistic::min, Statistic::l2norm));
  EXPECT_EQ(plan.statistics_processor, Processor::host);
  EXPECT_EQ(plan.sample_count, 0U);
  EXPECT_EQ(plan.debug, DebugMode::none);
  EXPECT_FALSE(plan.operator_arguments);
  EXPECT_TRUE(plan.default_format);
  EXPECT_TRUE(plan.synchronous);
  EXPECT_EQ(plan.scheme, SchemeKind::rank_tree);
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
  config.set("saved_data", "\"full\"").set("statistic_category", R"j(["md5", "max", "max", "hash"])j");
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
  EXPECT_THAT(plan.statistics, ElementsAre(Statistic::md5, Statistic::max, Statistic::max, Statistic::sha1));
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
    const DialectOptions options = make_options(strict, Mode::automatic, variables);
    EXPECT_EQ(must_compile(Config().set("path", ""), options).root, "/diag/debug_dump");
    EXPECT_EQ(must_compile(Config().set("path", "\"\""), options).root, "/diag/debug_dump");
    EXPECT_EQ(must_compile(Config(), options).root, "/data");
  }
  EXPECT_EQ(
      must_compile(Config().set("path", "\"~/a b\""), make_options(false, Mode::automatic, variables)).root,
      "/home/me/a b");
  const DialectOptions dotted = make_options(true, Mode::automatic, {{"MS_DIAGNOSTIC_DATA_PATH", "/a.b"}});
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
  for (const bool strict : {true, false})
    for (const Mode mode : {Mode::cpu, Mode::gpu}) {
      const DumpPlan plan = must_compile(exception, make_options(strict, mode));
      EXPECT_EQ(plan.debug, DebugMode::exception);
      EXPECT_TRUE(plan.parameters) << "as MindSpore";
      EXPECT_EQ(plan.input_parameters, mode == Mode::cpu);
      EXPECT_TRUE(plan.steps.is_all());
    }
  EXPECT_FALSE(must_compile(exception, make_options(true)).parameters);
  const Config inputs = Config().set("op_debug_mode", "4").set("input_output", "1");
  EXPECT_EQ(must_compile(inputs, make_options(true, Mode::cpu)).steps.format(), "none");
}

TEST(MindsporeStatistics, DeviceDropsWhatOnlyTheHostHas) {
  Config config;
  config.set("saved_data", "\"statistic\"").set("e2e.stat_calc_mode", "\"device\"");
  config.set("statistic_category", R"j(["md5", "avg", "zero count", "md5"])j");
  const DumpPlan plan = must_compile(config, make_options(true));
  EXPECT_EQ(plan.statistics_processor, Processor::device);
  EXPECT_THAT(plan.statistics, ElementsAre(Statistic::avg));
  EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("left out: md5, zero count")));
}

TEST(MindsporeStatistics, DeviceFallsBackToTheHost) {
  Config config;
  config.set("e2e.stat_calc_mode", "\"device\"");
  const auto place = [](const Config& c, Mode mode = Mode::automatic) {
    const DumpPlan plan = must_compile(c, make_options(true, mode));
    EXPECT_EQ(plan.warnings.size(), plan.statistics_processor == Processor::host ? 1U : 0U);
    return plan.statistics_processor;
  };
  EXPECT_EQ(place(config), Processor::host);
  EXPECT_EQ(place(config.set("saved_data", "\"full\"")), Processor::host);
  EXPECT_EQ(place(config.set("saved_data", "\"statistic\"")), Processor::device);
  EXPECT_EQ(place(config, Mode::gpu), Processor::host);
  EXPECT_EQ(place(config.set("op_debug_mode", "3")), Processor::device);
  EXPECT_EQ(place(config.set("e2e.enable", "false")), Processor::host);
}

TEST(MindsporeMode, FollowsTheConfig) {
  const DumpPlan online = must_compile(Config(), make_options(false));
  EXPECT_EQ(online.scheme, SchemeKind::rank_tree);
  EXPECT_FALSE(online.run_metadata);
  const DumpPlan offline = must_compile(Config().offline(), make_options(false));
  EXPECT_EQ(offline.scheme, SchemeKind::model_tree);
  EXPECT_EQ(offline.file_format, FileFormat::bin);
  EXPECT_FALSE(offline.default_format);
  const DialectOptions ge = make_options(false, Mode::automatic, {{"ENABLE_MS_GE_DUMP", "1"}});
  EXPECT_EQ(must_compile(Config().offline(), ge).scheme, SchemeKind::time_tree);
  EXPECT_EQ(must_compile(Config(), ge).scheme, SchemeKind::rank_tree);
  const DialectOptions ge_off = make_options(false, Mode::automatic, {{"ENABLE_MS_GE_DUMP", "0"}});
  EXPECT_EQ(must_compile(Config().offline(), ge_off).scheme, SchemeKind::model_tree);
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
    EXPECT_EQ(plan.scheme, SchemeKind::rank_tree);
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

}  // namespace
}  // namespace opdump::dialect
