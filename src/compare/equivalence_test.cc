#include "compare/equivalence.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "compare/compare.h"

namespace opdump::compare {
namespace {

namespace fs = std::filesystem;

// A dump of operators on float32 vectors, written by hand.
class Dump {
 public:
  explicit Dump(const fs::path& root) : root_(root) {}

  Dump& op(const std::string& name, const std::vector<std::vector<float>>& inputs,
           const std::vector<float>& output) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      write(name + ".0.0." + time() + ".input." + std::to_string(i), inputs[i]);
    write(name + ".0.0." + time() + ".output.0", output);
    return *this;
  }
  const fs::path& root() const { return root_; }

 private:
  std::string time() { return std::to_string(++us_); }
  void write(const std::string& slot, const std::vector<float>& values) {
    const fs::path directory = root_ / "rank_0" / "net" / "0" / "0";
    fs::create_directories(directory);
    std::string header =
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }";
    header.append(63 - (10 + header.size()) % 64, ' ').append("\n");
    std::string text("\x93NUMPY\x01\x00", 8);
    text.push_back(static_cast<char>(header.size() & 0xff));
    text.push_back(static_cast<char>(header.size() >> 8));
    std::string data(values.size() * 4, '\0');
    std::memcpy(data.data(), values.data(), data.size());
    std::ofstream(directory / (slot + ".DefaultFormat.float32.npy"), std::ios::binary)
        << text << header << data;
  }

  fs::path root_;
  std::uint64_t us_ = 1700000000000000;
};

class EquivalenceTest : public ::testing::Test {
 protected:
  EquivalenceTest() {
    std::string name = (fs::temp_directory_path() / "opdump_equivalence_XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    golden_.emplace(directory_ / "golden");
    actual_.emplace(directory_ / "actual");
  }
  ~EquivalenceTest() override { fs::remove_all(directory_); }

  // The name of the first bad operator; empty if nothing differs.
  std::string first_bad() {
    auto golden = dump::DumpSet::open(golden_->root()), actual = dump::DumpSet::open(actual_->root());
    EXPECT_TRUE(golden && actual);
    auto comparison = compare_dumps(*golden, *actual, {});
    EXPECT_TRUE(comparison);
    notes_ = comparison->notes;
    EXPECT_EQ(comparison->outcome, comparison->first_bad ? Answer::differs : Answer::same);
    return comparison->first_bad ? comparison->first_bad->run().name : "";
  }

  fs::path directory_;
  std::optional<Dump> golden_, actual_;
  std::vector<std::string> notes_;
};

TEST_F(EquivalenceTest, WhatBothRunsReadAfterwardsIsNoDifference) {
  golden_->op("sub.a", {{5, 7}, {1, 2}}, {4, 5}).op("pow.b", {{4, 5}}, {16, 25});
  actual_->op("neg.x", {{1, 2}}, {-1, -2})
      .op("add.y", {{5, 7}, {-1, -2}}, {4, 5})
      .op("pow.b", {{4, 5}}, {16, 25});
  EXPECT_EQ(first_bad(), "");
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0], "3 operators are in one run only, and the other run has the results: no difference");
}

TEST_F(EquivalenceTest, AFusedOperatorHasTheResultOfTheLastOne) {
  golden_->op("relu.a", {{1, 2}}, {1, 2})
      .op("mul.b", {{3, 4}}, {6, 8})
      .op("add_.c", {{1, 1}, {6, 8}}, {7, 9});
  actual_->op("relu.a", {{1, 2}}, {1, 2}).op("fused.x", {{1, 1}, {3, 4}}, {7, 9.000001f});
  EXPECT_EQ(first_bad(), "");
}

// Views have no data in a dump.
TEST_F(EquivalenceTest, AResultThatIsReadThroughAViewIsRead) {
  const std::vector<float> half{1, 2, 3, 4, 5, 6, 7, 8}, rest{11, 12, 13, 14, 15, 16, 17, 18};
  std::vector<float> whole = half, one(8, 3.5f);
  whole.insert(whole.end(), rest.begin(), rest.end());
  golden_->op("mul.m", {{9}}, whole).op("mean.n", {{9, 9}}, {3.5f}).op("sub.a", {half, one}, {4, 5});
  actual_->op("sub.a", {half, one}, {4, 5});
  EXPECT_EQ(first_bad(), "");
  actual_->op("exp.e", {{1}}, {3.25f});
  EXPECT_EQ(first_bad(), "e");
}

TEST_F(EquivalenceTest, AResultThatTheOtherRunLacksIsADifference) {
  golden_->op("relu.a", {{1, 2}}, {1, 2})
      .op("mul.b", {{3, 4}}, {6, 8})
      .op("add_.c", {{1, 1}, {6, 8}}, {7, 9});
  actual_->op("relu.a", {{1, 2}}, {1, 2}).op("fused.x", {{1, 1}, {3, 4}}, {7, 9.001f});
  EXPECT_EQ(first_bad(), "x");
}

TEST_F(EquivalenceTest, ASkippedUpdateIsADifference) {
  golden_->op("relu.a", {{1, 2}}, {1, 2}).op("add_.c", {{1, 1}, {6, 8}}, {7, 9});
  actual_->op("relu.a", {{1, 2}}, {1, 2});
  EXPECT_EQ(first_bad(), "c");
}

TEST_F(EquivalenceTest, WhatOnlyACopyReadsIsADifference) {
  golden_->op("relu.a", {{1, 2}}, {1, 2});
  actual_->op("relu.a", {{1, 2}}, {1, 2}).op("mul.b", {{1, 2}}, {2, 4}).op("clone.c", {{2, 4}}, {2, 4});
  EXPECT_EQ(first_bad(), "b");
}

}  // namespace
}  // namespace opdump::compare
