#include "msaccucmp/write/detail_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "dump/temp_directory_test.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;

class Details : public testing::Test {
 protected:
  dump::TempDirectory directory_;
  std::string folder_ = directory_.path().string();
  fs::path mapping_ = directory_.path() / "simple_op_mapping.csv";
};

TEST_F(Details, AreNamedAfterTheTensor) {
  DetailFiles files(folder_, "scope/conv", false, 3);
  EXPECT_EQ(files.prefix(), "scope_conv_output_3");
  const auto name = files.name_for(".csv");
  ASSERT_TRUE(name);
  EXPECT_EQ(*name, "scope_conv_output_3.csv");
  EXPECT_FALSE(fs::exists(mapping_));
}

TEST_F(Details, WithLongNamesAreNamedAfterTheFile) {
  DetailFiles files(folder_, std::string(250, 'n'), true, 0);
  files.set_dump_file("Conv.conv.1.2");
  EXPECT_EQ(*files.name_for("_summary.txt"), "Conv_conv_1_2_input_0_summary.txt");
  EXPECT_TRUE(fs::exists(mapping_));
  files.set_dump_file(std::string(255, 'f'));
  const auto name = files.name_for("_1000000.csv");
  ASSERT_TRUE(name);
  EXPECT_THAT(*name, testing::MatchesRegex("[0-9a-f]{32}\\.csv"));
}

TEST_F(Details, ReplaceThoseOfAnEarlierRun) {
  DetailFiles files(folder_, "conv", false, 0);
  ASSERT_TRUE(files.write("_summary.txt", "old"));
  ASSERT_TRUE(files.write("_0.csv", "old"));
  ASSERT_TRUE(files.create("_0.csv"));
  EXPECT_EQ(fs::file_size(directory_.path() / "conv_output_0_0.csv"), 0U);
  files.remove_old();
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

}  // namespace
}  // namespace opdump::msaccucmp
