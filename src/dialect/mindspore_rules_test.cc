#include "dialect/mindspore_config_test.h"

namespace opdump::dialect {
namespace {

using testing::HasSubstr;

struct RuleCase {
  const char* key;
  const char* value;
  const char* lenient;
  const char* strict;
  Mode mode = Mode::automatic;
};

void check_rules(std::span<const RuleCase> rules, Config base) {
  for (const RuleCase& rule : rules) {
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
  const RuleCase rules[] = {
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
  const RuleCase rules[] = {
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
  const RuleCase sample_rules[] = {
      {"e2e.sample_num", "5", "", ""},
      {"e2e.sample_num", "0", "sample_num is 0; should be greater than 0", "should be greater than 0"},
      {"e2e.sample_num", "4294967296", "at most 4294967295", "should be greater than 0"},
      {"e2e.sample_num", "\"5\"", "should be unsigned int type", "should be unsigned int type"},
  };
  check_rules(sample_rules, Config().set("e2e.sample_mode", "1"));
}

TEST(MindsporeRules, WithoutE2eSettings) {
  const RuleCase rules[] = {
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
  const RuleCase statistic_rules[] = {{"saved_data", "\"full\"", "", ""}};
  check_rules(statistic_rules, Config().offline().set("file_format", "\"npy\""));
}

TEST(MindsporeRules, OverflowNumber) {
  const RuleCase rules[] = {
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
  const RuleCase rules[] = {
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
  const RuleCase rules[] = {
      {"kernels", R"j(["Default/Conv-op12", "conv", "name-regex(Default/.+)"])j", "", ""},
      {"kernels", R"j(["conv", "name-regex(Default/[)"])j", "kernels[1] is \"name-regex(Default/[)\";",
       "is not a regular expression"},
      {"kernels", "[5]", "kernels[0] is 5; should be string type", ""},
      {"kernels", R"j(["name-regex(abc"])j", "should end with", ""},
  };
  check_rules(rules, Config().set("dump_mode", "1"));
  const RuleCase unused_rules[] = {{"kernels", R"j([5, "name-regex([)"])j", "", ""}};
  check_rules(unused_rules, Config().set("dump_mode", "0"));
}

}  // namespace
}  // namespace opdump::dialect
