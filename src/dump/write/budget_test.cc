#include "dump/write/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/temp_directory_test.h"
#include "dump/write/rank_tree.h"

namespace opdump::dump {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class BudgetTest : public testing::Test {
 protected:
  TempDirectory directory_;
};

TEST_F(BudgetTest, CountsUpToItsLimit) {
  Budget budget(10'000, directory_.path());
  EXPECT_EQ(budget.describe_left(), "9.8 KiB are left of the budget of 9.8 KiB");
  EXPECT_TRUE(budget.spend(6'000));
  const auto more = budget.spend(6'000);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), Code::limit);
  EXPECT_EQ(more.error().message(), "the budget of 9.8 KiB would be exceeded");
  EXPECT_EQ(budget.spent(), 6'000u);
  EXPECT_EQ(budget.left(), 4'000u);
  EXPECT_TRUE(budget.spend(4'000));
  EXPECT_FALSE(budget.spend(1));
}

TEST_F(BudgetTest, IsAtMostTheFreeSpace) {
  const auto writable = writable_bytes(directory_.path() / "not" / "there");
  ASSERT_TRUE(writable);
  EXPECT_GT(*writable, 0u);
  const Budget budget(kUnlimited, directory_.path());
  EXPECT_THAT(budget.describe_left(), EndsWith("B are free"));
  EXPECT_LT(budget.left(), kUnlimited);
  EXPECT_TRUE(check_budget(kUnlimited, directory_.path()));
  EXPECT_TRUE(check_budget(4'096, directory_.path()));
  const auto refused = check_budget(kModest - 1, directory_.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::usage);
  EXPECT_THAT(refused.error().message(), HasSubstr("the disk has room for"));
}

TEST_F(BudgetTest, LeavesMostOfTheDiskToOthers) {
  const auto writable = writable_bytes(directory_.path());
  ASSERT_TRUE(writable);
  const Budget budget(kModest, directory_.path());
  EXPECT_LE(budget.left(), std::uint64_t{10} << 30);
  EXPECT_LT(budget.left(), *writable / 4);
  EXPECT_THAT(budget.describe_left(), HasSubstr("are left of the budget of"));
  EXPECT_TRUE(check_budget(kModest, directory_.path()));
}

TEST_F(BudgetTest, AFileSystemWithoutFilesIsNotFull) {
  const auto refused = check_budget(kUnlimited, "/proc/dump");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "/proc/dump: the file system of /proc holds no files");
}

TEST_F(BudgetTest, TheWriterCountsFilesAndRows) {
  const auto budget = std::make_shared<Budget>(10'000, directory_.path());
  auto tree = open_rank_tree({directory_.path(), "net", 0, {"Max Value"}, false});
  ASSERT_TRUE(tree) << tree.error().message();
  const auto writer = limit_writes(std::move(*tree), budget);
  const model::Operator op{.type = "add", .name = "Default/add-op0", .source_file = {}};
  const float elements[2000] = {};
  const auto view =
      model::TensorView::row_major(model::DType::float32, {4}, reinterpret_cast<const std::byte*>(elements));
  SlotAddress address{.op = &op, .timestamp_us = 1};
  const auto file = writer->write_tensor(address, view);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(budget->spent(), 4096u);
  address.index = 1;
  EXPECT_TRUE(writer->link_tensor(address, view.dtype, view.shape, *file));
  EXPECT_EQ(budget->spent(), 4096u);
  EXPECT_TRUE(writer->write_statistics(address, {16, view.dtype, view.shape, {}, {}}));
  EXPECT_GT(budget->spent(), 4096u);
  EXPECT_LT(budget->spent(), 4500u);
  const auto large = model::TensorView::row_major(model::DType::float32, {2000},
                                                  reinterpret_cast<const std::byte*>(elements));
  address.index = 2;
  const auto refused = writer->write_tensor(address, large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::limit);
}

}  // namespace
}  // namespace opdump::dump
