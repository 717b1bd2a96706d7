#include "msaccucmp/read/operator_files.h"

#include <gtest/gtest.h>

#include <string>

namespace opdump::msaccucmp {
namespace {

std::string name_of(int op, int run) {
  return "Relu.layer_" + std::to_string(op) + ".1.2." + std::to_string(1000 + run);
}

TEST(FilesByOperator, FindsEachOfVeryMany) {
  constexpr int kOperators = 150000;
  FilesByOperator files("dir");
  for (int run = 0; run < 2; ++run)  // the newer ones first
    for (int op = 0; op < kOperators; ++op) {
      const std::string key = "layer_" + std::to_string(op), name = name_of(op, 1 - run);
      files.add({key, name, run == 0 ? TaskMode::manual : TaskMode::normal, 0, 1001U - run});
    }
  files.sort();
  EXPECT_EQ(files.first_path(), "dir/" + name_of(0, 0));
  for (int op = 0; op < kOperators; ++op) {
    const auto found = files.find("layer_" + std::to_string(op));
    ASSERT_TRUE(found) << op;
    const std::vector<std::string> paths = {"dir/" + name_of(op, 0), "dir/" + name_of(op, 1)};
    ASSERT_EQ(found->paths, paths);
    ASSERT_EQ(found->time_us, 1001U);
    ASSERT_EQ(found->mode, TaskMode::normal);  // as the last one says
  }
  EXPECT_FALSE(files.find("layer_150000"));
}

TEST(FilesByOperator, OperatorsComeByTheirKeys) {
  FilesByOperator files("dir");
  files.add({"b", "Relu.b.1"});
  files.add({"a", "Relu.a.2", TaskMode::normal, 0, 7});
  files.add({"b", "Conv.b.3"});
  files.add({"a_", "Conv.a_.4"});
  files.sort();
  std::string text;
  for (auto op = files.after({}); !op.is_none(); op = files.after(op)) {
    text.append(files.key(op)).append(" ").append(std::to_string(files.first_file(op)));
    text.append(" ").append(std::to_string(files.time_us(op))).append("\n");
    EXPECT_EQ(files.at(op).key, files.key(op));
  }
  EXPECT_EQ(text, "a 1 7\na_ 3 0\nb 0 0\n");
}

TEST(FilesByOperator, OfSlicesTheLastCounts) {
  FilesByOperator files("dir");
  files.add({"conv", "Conv.a.9", TaskMode::automatic, 10, 1});
  files.add({"conv", "Conv.b.2", TaskMode::automatic, 9, 2});
  files.add({"", "no name", TaskMode::normal, 0, 3});
  files.sort();
  const OperatorFiles conv = files.find("conv").value();
  EXPECT_EQ(conv.paths.back(), "dir/Conv.a.9");
  EXPECT_EQ(conv.time_us, 1U);
  EXPECT_EQ(files.find("").value().paths.back(), "dir/no name");
}

TEST(FilesByOperator, Nothing) {
  FilesByOperator files;
  files.sort();
  EXPECT_FALSE(files.find("a"));
  EXPECT_EQ(files.first_path(), "");
  EXPECT_TRUE(files.after({}).is_none());
}

}  // namespace
}  // namespace opdump::msaccucmp
