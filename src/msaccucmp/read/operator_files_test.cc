#include "msaccucmp/read/operator_files.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace opdump::msaccucmp {
namespace {

std::string name_of(int op, int run) {
  return "Relu.layer_" + std::to_string(op) + ".1.2." + std::to_string(1000 + run);
}

// What is kept of so many is not in memory.
TEST(FilesByOperator, FindsEachOfVeryMany) {
  constexpr int kOperators = 150000;
  FilesByOperator files("dir");
  for (int run = 0; run < 2; ++run)  // the newer ones first
    for (int op = 0; op < kOperators; ++op) {
      const std::string key = "layer_" + std::to_string(op), name = name_of(op, 1 - run);
      files.add({key, name, run == 0 ? TaskMode::manual : TaskMode::normal, 0, 1001U - run});
    }
  ASSERT_TRUE(files.finish());
  EXPECT_EQ(files.first_path(), "dir/" + name_of(0, 0));
  for (int op = 0; op < kOperators; ++op) {
    const auto found = files.find("layer_" + std::to_string(op));
    ASSERT_TRUE(found && *found) << op;
    const std::vector<std::string> paths = {"dir/" + name_of(op, 0), "dir/" + name_of(op, 1)};
    ASSERT_EQ((*found)->paths, paths);
    ASSERT_EQ((*found)->time_us, 1001U);
    ASSERT_EQ((*found)->mode, TaskMode::normal);  // as the last one says
  }
  EXPECT_FALSE(*files.find("layer_150000"));
}

TEST(FilesByOperator, AllDumpsHaveTheSameOrder) {
  FilesByOperator few("few"), many("many");
  for (int op = 0; op < 1000; ++op) {
    const std::string key = "layer_" + std::to_string(op), name = name_of(op, 0);
    many.add({key, name});
    if (op % 100 == 0) few.add({key, name});
  }
  ASSERT_TRUE(few.finish() && many.finish());
  FilesByOperator::Reader of_few(few), of_many(many);
  std::set<std::uint64_t> numbers;
  for (std::size_t left = 10; left > 0; --left) {
    ASSERT_TRUE(*of_few.next());
    do ASSERT_TRUE(*of_many.next());
    while (of_many.order() < of_few.order());
    ASSERT_EQ(of_many.order(), of_few.order());
    EXPECT_EQ(many.at(of_many.span())->key, few.at(of_few.span())->key);
    EXPECT_EQ(of_many.first_file(), 100 * of_few.first_file());
    numbers.insert(of_few.first_file());
  }
  EXPECT_EQ(numbers.size(), 10U);
  EXPECT_FALSE(*of_few.next());
}

TEST(FilesByOperator, OfSlicesTheLastCounts) {
  FilesByOperator files("dir");
  files.add({"conv", "Conv.a.9", TaskMode::automatic, 10, 1});
  files.add({"conv", "Conv.b.2", TaskMode::automatic, 9, 2});
  files.add({"", "no name", TaskMode::normal, 0, 3});
  ASSERT_TRUE(files.finish());
  const OperatorFiles conv = files.find("conv")->value();
  EXPECT_EQ(conv.paths.back(), "dir/Conv.a.9");
  EXPECT_EQ(conv.time_us, 1U);
  EXPECT_EQ(files.find("")->value().paths.back(), "dir/no name");
}

TEST(FilesByOperator, Nothing) {
  FilesByOperator files;
  EXPECT_FALSE(*files.find("a"));
  ASSERT_TRUE(files.finish());
  EXPECT_FALSE(*files.find("a"));
  EXPECT_FALSE(*FilesByOperator::Reader(files).next());
}

}  // namespace
}  // namespace opdump::msaccucmp
