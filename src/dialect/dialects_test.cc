#include "dialect/dialects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "dialect/mindspore.h"
#include "dialect/options_test.h"

namespace opdump::dialect {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kConfig = R"({
  "common_dump_settings": {
    "dump_mode": 0, "path": "/data", "net_name": "Net", "iteration": "all", "input_output": 0,
    "kernels": [], "support_device": [0]
  },
  "e2e_dump_settings": {"enable": true}
}
)";

class LoadPlan : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "opdump_dialect_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = std::filesystem::canonical(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return folder / name;
  }

  std::filesystem::path folder;
};

TEST_F(LoadPlan, ByContentAndByName) {
  const std::string text = std::string(kConfig);
  const auto path = write("c.json", text);
  for (const char* name : {"", "mindspore"}) {
    const auto plan = load_plan(path, name, make_options(true));
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_EQ(plan->dialect, "mindspore");
    EXPECT_EQ(plan->config_path, path);
    EXPECT_EQ(plan->config_text, text);
  }
  const auto unknown = load_plan(path, "xyz", make_options(true));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::usage);
  EXPECT_THAT(unknown.error().message(), HasSubstr("known are mindspore"));
}

TEST_F(LoadPlan, ReadsAByteOrderMark) {
  EXPECT_TRUE(load_plan(write("c.json", "\xEF\xBB\xBF" + std::string(kConfig)), "", make_options(true)));
}

TEST_F(LoadPlan, WhatCannotBeRead) {
  const auto missing = load_plan(folder / "none.json", "", make_options(false));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::config);
  EXPECT_FALSE(load_plan(folder, "", make_options(false)));
  const auto broken =
      load_plan(write("b.json", "{\n \"common_dump_settings\": {,}}"), "", make_options(false));
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message(), HasSubstr("b.json:2:27: not JSON"));
  const auto other = load_plan(write("o.json", "{\"common_dump_setting\": {}}"), "", make_options(false));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("o.json:1:1: not a known configuration"));
  EXPECT_THAT(other.error().message(), HasSubstr("is \"common_dump_setting\" a misspelling?"));
}

TEST_F(LoadPlan, WhatIsThereInPlaceOfAConfiguration) {
  const auto complaint = [&](std::string_view text) {
    const auto plan = load_plan(write("w.json", std::string(text)), "", make_options(false));
    return plan ? std::string() : plan.error().message().substr((folder / "w.json").string().size());
  };
  using namespace std::literals;
  EXPECT_EQ(complaint(" \n"), ":1:1: not JSON: the file is empty");
  EXPECT_EQ(complaint("\x1f\x8b\x08\0\0"sv), ":1:1: not JSON: the file is a gzip archive");
  EXPECT_EQ(complaint("\xff\xfe{\0}\0"sv), ":1:1: not JSON: the file is text in UTF-16; UTF-8 is expected");
  EXPECT_EQ(complaint("Op Type,Op Name\nAdd,x\n"), ":1:1: not JSON: the file is a table as text (CSV)");
  EXPECT_THAT(complaint("[]"), HasSubstr("; this is "));
  EXPECT_THAT(complaint(R"({"dump_mode": 0, "path": "/d", "net_name": "n"})"),
              HasSubstr("; \"dump_mode\" belongs in common_dump_settings"));
  EXPECT_THAT(complaint(R"({"dump_mode": "all", "dump_path": "/d", "dump_list": []})"),
              HasSubstr("; \"dump_list\" belongs in the object dump"));
}

// aclInit() takes them and dumps nothing.
TEST_F(LoadPlan, WithoutASectionOfADump) {
  for (const char* text : {"{}", R"({"profiler": {"switch": "off"}})", R"({"max_opqueue_num": "100"})"})
    for (const char* name : {"", "acl"}) {
      const auto plan = load_plan(write("acl.json", text), name, make_options(false));
      ASSERT_TRUE(plan) << plan.error().message();
      EXPECT_EQ(plan->dialect, "acl");
      EXPECT_TRUE(plan->is_empty) << text;
    }
}

TEST_F(LoadPlan, StrictLooksAtTheSuffixBehindSymbolicLinks) {
  const auto config = write("c.cfg", std::string(kConfig));
  EXPECT_TRUE(load_plan(config, "", make_options(false)));
  for (const char* name : {"", "mindspore"}) {
    const auto refused = load_plan(config, name, make_options(true));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("only supports \".json\""));
  }
  std::filesystem::create_symlink(config, folder / "link.json");
  EXPECT_FALSE(load_plan(folder / "link.json", "", make_options(true)));
  const auto json = write("d.json", std::string(kConfig));
  std::filesystem::create_symlink(json, folder / "link.cfg");
  EXPECT_TRUE(load_plan(folder / "link.cfg", "", make_options(true)));
  EXPECT_FALSE(check_mindspore_path("/a/config"));
  EXPECT_FALSE(check_mindspore_path("/a.json/config"));
  EXPECT_FALSE(check_mindspore_path("/a/b.JSON"));
  EXPECT_TRUE(check_mindspore_path("/a/.json"));
}

TEST(Samples, AllCompile) {
  struct Sample {
    const char* name;
    Mode mode;
    bool strict;  // whether the original takes it, too
  };
  const Sample samples[] = {{"o0_sync", Mode::automatic, true},  {"o0_statistics", Mode::automatic, true},
                            {"o2", Mode::automatic, true},       {"cpu", Mode::cpu, false},
                            {"minimal", Mode::automatic, false}, {"overflow", Mode::automatic, true},
                            {"o0_sync", Mode::cpu, true},        {"o0_sync", Mode::gpu, true}};
  for (const auto& [name, mode, strict] : samples) {
    const std::string path = std::string(OPDUMP_SOURCE_DIR "/tests/data/config/") + name + ".json";
    const Variables variables{{"HOME", "/home/me"}};
    const auto lenient = load_plan(path, "", make_options(false, mode, variables));
    ASSERT_TRUE(lenient) << lenient.error().message();
    EXPECT_THAT(lenient->warnings, IsEmpty()) << path;
    EXPECT_EQ(static_cast<bool>(load_plan(path, "", make_options(true, mode, variables))), strict) << path;
  }
}

TEST(Samples, ThoseOfTheOriginalCompileStrictly) {
  const std::string folder = OPDUMP_SOURCE_DIR "/../shared/testdata/mindspore/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no reference data";
  const DialectOptions options = make_options(true, Mode::automatic, {{"MS_DIAGNOSTIC_DATA_PATH", "/diag"}});
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name != "data_dump.json" && name != "test_e2e_statistic_config.json") continue;
    ++count;
    const auto plan = load_plan(entry.path(), "", options);
    EXPECT_TRUE(plan) << plan.error().message();
  }
  EXPECT_GT(count, 3);
}

TEST(Modes, ByName) {
  EXPECT_EQ(*parse_mode("auto"), Mode::automatic);
  EXPECT_EQ(*parse_mode("gpu"), Mode::gpu);
  const auto unknown = parse_mode("O0");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("expected auto, o0, o2, cpu, gpu or ge"));
}

}  // namespace
}  // namespace opdump::dialect
