#include "msaccucmp/write/result_csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "msaccucmp/log.h"
#include "msaccucmp/write/advisor.h"
#include "msaccucmp/write/element_lines.h"

namespace opdump::msaccucmp {
namespace {

TEST(ResultCsv, QuotesLikePython) {
  EXPECT_EQ(csv_line({"a", "b,c", "d\"e", ""}), "a,\"b,c\",\"d\"\"e\",\r\n");
}

TEST(ResultCsv, KeepsRowsWhole) {
  const Row row = {"17", "", std::string("a\0b\r\n", 5), std::string(300, 'x')};
  EXPECT_EQ(PackedRow(row).cells(), row);
  EXPECT_EQ(PackedRow(row).index(), 17);
}

TEST(ResultRows, AreSortedByTheirIndex) {
  for (const int step : {1, 7919}) {
    ResultRows rows;
    constexpr int kCount = 20000;
    for (int i = 0; i < kCount; ++i)
      rows.add(Row{std::to_string(i * step % kCount / 2), std::to_string(i), std::string(200, 'x')});
    rows.sort();
    ASSERT_EQ(rows.size(), 20000U);
    std::vector<std::pair<int, int>> seen;
    for (std::size_t i = 0; i < rows.size(); ++i)
      seen.emplace_back(std::stoi(rows[i][0]), std::stoi(rows[i][1]));
    EXPECT_TRUE(std::ranges::is_sorted(seen));  // equal ones as they came
    EXPECT_EQ(seen.back().first, kCount / 2 - 1);
  }
}

TEST(ResultCsv, FindsWhatASpreadsheetWouldExecute) {
  EXPECT_FALSE(find_formula({"-1.5", "+2", "-inf", "*", "a=b", "(1;2),(3;4)"}));
  EXPECT_EQ(find_formula({"fine", "=1+1"}), "=1+1");
  EXPECT_EQ(find_formula({"a;=b", ""}), "a;=b");
  EXPECT_EQ(find_formula({"", "-x"}), "-x");
}

TEST(ElementLines, RelativeErrorsThatAreNoneHaveNoTab) {
  std::string text;
  append_element(text, 5, {1, 1, 2, 3}, {1, 2, 1, 0.5}, false);
  append_element(text, 0, {1, 1, 2, 3}, {1, 0, 1, NAN}, false);
  append_element(text, 1, {1, 1, 1, 2}, {1, 0, NAN, NAN}, true);
  EXPECT_EQ(text,
            "5,0 0 1 2,1.000000\t,2.000000\t,1.000000\t,0.500000\t\n"
            "0,0 0 0 0,1.000000\t,0.000000\t,1.000000\t,-\n"
            "1,0 0 0 1,True\t,False\t,-\t,-\n");
  EXPECT_EQ(top_line(0, {2, 1, 1, 1}, {-INFINITY, 0, NAN, NAN}, false),
            "0,0 0 0 0,--\t,0.000000\t,-\t,-\t\n");
}

TEST(ElementLines, TablesForPeopleAreAligned) {
  EXPECT_EQ(aligned_table("A,Long\n", {"12345,1\t\n"}), "A    \tLong\n12345\t1   \n");
}

class AdvisorTest : public testing::Test {
 protected:
  Advice advise_on(const std::vector<Row>& rows, const std::vector<std::string>& inputs = {}) {
    ResultRows kept;
    for (const Row& row : rows) kept.add(row);
    return advise({"Index", "NPUDump", "OverFlow", "CosineSimilarity"}, kept, inputs, log_);
  }
  Log log_;
};

TEST_F(AdvisorTest, OverflowComesFirst) {
  const Advice advice = advise_on({{"0", "data", "NO", "0.5"}, {"3", "conv", "YES", "0.1"}}, {"data"});
  EXPECT_EQ(advice.type, "FP16 Overflow");
  EXPECT_EQ(advice.operator_index, "3");
}

TEST_F(AdvisorTest, ThenInputs) {
  EXPECT_EQ(advise_on({{"0", "data", "NO", "0.5"}, {"3", "conv", "NO", "0.1"}}, {"data"}).type,
            "Input Inconsistent");
}

TEST_F(AdvisorTest, ThenTheNetwork) {
  EXPECT_EQ(advise_on({{"0", "data", "NO", "1.0"}, {"3", "conv", "NaN", "NaN"}}, {"data"}).operator_index,
            "NA");
  const Advice bad = advise_on({{"0", "a", "NO", "1.0"}, {"3", "b", "NO", "0.2"}});
  EXPECT_EQ(bad.operator_index, "3");
  EXPECT_NE(bad.text.find("unqualified"), std::string::npos);
  EXPECT_NE(advise_on({{"0", "a", "NO", "0.2"}, {"3", "b", "NO", "1.0"}}).text.find("Ascend internal"),
            std::string::npos);
  EXPECT_EQ(advise_on({{"0", "a", "NO", "NaN"}}).type, "NA");
}

}  // namespace
}  // namespace opdump::msaccucmp
