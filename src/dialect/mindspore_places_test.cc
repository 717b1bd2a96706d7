#include "dialect/mindspore_config_test.h"

#include "dialect/dialects.h"

namespace opdump::dialect {
namespace {

using plan::DumpPlan;
using testing::ElementsAre;
using testing::HasSubstr;

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
  EXPECT_THAT(typo.error().message(), HasSubstr("is \"common_dump_setings\" a misspelling?"));
  const auto key = compile("{\"common_dump_settings\": {\n\"dump_mod\": 0}}", make_options(false));
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().message(),
            "f.json:2:1: dump_mode not found in common_dump_settings, which requires it; is \"dump_mod\" a "
            "misspelling?");
  for (const char* text : {"{\"common_dump_settings\": 5}", "{\"common_dump_settings\": []}"}) {
    const auto other = compile(text, make_options(true));
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message(), HasSubstr("f.json:1:26: dump_mode not found"));
  }
  for (const char* text : {"5", "[]", "null", "\"common_dump_settings\""})
    EXPECT_FALSE(compile(text, make_options(true))) << text;
}

TEST(MindsporePositions, OfKeysInAnotherSection) {
  Config config;
  config.set("enable", "true").set("e2e.saved_data", "\"tensor\"");
  EXPECT_THAT(must_compile(config, make_options(false)).warnings,
              ElementsAre(HasSubstr("unknown key \"enable\"; it belongs in e2e_dump_settings"),
                          HasSubstr("unknown key \"saved_data\"; it belongs in common_dump_settings")));
  config.set("dump_mode", "").set("e2e.dump_mode", "0");
  EXPECT_EQ(complaint(config, make_options(false)),
            "f.json:11:1: dump_mode not found in common_dump_settings, which requires it; here it is in "
            "\"e2e_dump_settings\"");
  const auto outside = compile("{\"common_dump_settings\": {},\n\"dump_mode\": 0}", make_options(false));
  ASSERT_FALSE(outside);
  EXPECT_EQ(
      outside.error().message(),
      "f.json:2:1: dump_mode not found in common_dump_settings, which requires it; here it is outside of it");
}

TEST(MindsporePositions, OfKeysThatAreRepeated) {
  std::string text = Config().text();
  text.insert(text.find("\"path\""), "\"path\": \"/other\", ");
  const auto plan = compile(text, make_options(false));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->root, "/data");
  EXPECT_THAT(plan->warnings, ElementsAre("f.json:8:19: the key \"path\" is repeated; the last one counts"));
}

TEST(MindsporePositions, OfTheSectionThatOldReleasesHad) {
  std::string text = Config().offline().text();
  text.insert(text.rfind('}'), ", \"async_dump_settings\": {\"enable\": true}");
  const auto plan = compile(text, make_options(false));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->warnings, testing::Contains(HasSubstr("async_dump_settings is of MindSpore before 1.3")));
  const auto alone =
      make_plan("f.json", R"({"async_dump_settings": {"enable": true}})", "", make_options(false));
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().message(), HasSubstr("async_dump_settings is of MindSpore before 1.3"));
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
