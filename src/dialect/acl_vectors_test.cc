// The original's own test of its configurations: texts, and the code that it answers (adump_ut_vectors.json).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file/file.h"
#include "dialect/acl.h"
#include "dialect/dialects.h"
#include "dialect/options_test.h"

namespace opdump::dialect {
namespace {

namespace fs = std::filesystem;

class AclVectors : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "opdump-acl-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    before_ = fs::current_path();
    fs::current_path(directory_);
    fs::create_directories("TestDumpPath/valid_dir");
    fs::create_directories("TestDumpPath/dir_no_permission");
    fs::create_directories("TestExceptionDumpPath/config_path");
    fs::create_directories("TestWatcherDumpPath/config_path");
    for (const char* name : {"regular_file_with_permission", "file_no_permission"})
      std::ofstream("TestDumpPath/" + std::string(name)) << "x";
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(directory_);
  }

  fs::path directory_, before_;
};

// Texts that the original's test builds while it runs.
std::string text_of(const nlohmann::json& vector) {
  const std::string call = vector["call"];
  const std::string many(120, '1');
  std::string steps = "0", blacklist = "[";
  for (int i = 0; i < 101; ++i) {
    steps += "|1";
    blacklist += std::string(i == 0 ? "" : ", ") + R"({"name": "op", "pos": ["input0"]})";
  }
  if (call.find("exceedLimitJson") != std::string::npos)
    return R"({"dump": {"dump_path": "./", "dump_list": [{"model_name": "m"}], "dump_step": ")" + steps +
           "\"}}";
  if (call.find("longPathJson") != std::string::npos)
    return R"({"dump": {"dump_path": ")" + std::string(600, 'a') + "\"}}";
  std::string text = vector["json"];
  if (call.find("longDumpStep") != std::string::npos) text += steps + "\"}}";
  if (call.find("blacklistArray") != std::string::npos) text += blacklist + "]}]}}";
  return text;
}

// Whether it is about permissions, which do not hold for root.
bool needs_permissions(const nlohmann::json& vector) {
  return vector["expect"] == "EP0003" && vector["json"].is_string() &&
         vector["json"].get<std::string>().find("dir_no_permission") != std::string::npos;
}

TEST_F(AclVectors, AllOfThem) {
  auto text = read_file(OPDUMP_SOURCE_DIR "/../shared/testdata/cann/acl_json/adump_ut_vectors.json", 1 << 20);
  if (!text) GTEST_SKIP() << "the original's vectors are not here";
  const auto vectors = nlohmann::json::parse(*text);
  ASSERT_EQ(vectors.size(), 188u);
  for (const auto& vector : vectors) {
    if (needs_permissions(vector)) {
      if (::geteuid() == 0) continue;
      fs::permissions("TestDumpPath/dir_no_permission", fs::perms::none);
    }
    SCOPED_TRACE(vector.dump());
    for (const bool strict : {false, true}) {
      const DialectOptions options = make_options(strict);
      const auto plan = make_plan("acl.json", text_of(vector), "acl", options);
      if (vector["expect"].is_null()) {
        ASSERT_TRUE(plan) << plan.error().message();
        const std::string call = vector["call"];
        EXPECT_EQ(!plan->is_empty, call.find(", true,") != std::string::npos);
        EXPECT_EQ(plan->debug == plan::DebugMode::overflow, call.find("OVERFLOW") != std::string::npos);
        EXPECT_EQ(plan->debug == plan::DebugMode::exception,
                  call.find("EXCEPTION") != std::string::npos || call.find("AIC_ERR") != std::string::npos);
      } else {
        ASSERT_FALSE(plan);
        EXPECT_NE(plan.error().message().find(vector["expect"].get<std::string>() + ": "), std::string::npos)
            << plan.error().message();
        EXPECT_EQ(plan.error().message().find("acl.json:"), 0u) << plan.error().message();
        EXPECT_EQ(plan.error().number(), kAclInvalidDumpConfig);
      }
    }
  }
}

}  // namespace
}  // namespace opdump::dialect
