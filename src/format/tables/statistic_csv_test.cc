#include "format/tables/statistic_csv.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file/file.h"

namespace opdump::format {
namespace {

const std::vector<std::string> kDefaultColumns{"Max Value", "Min Value", "L2Norm Value"};
constexpr std::string_view kHeader =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min "
    "Value,L2Norm "
    "Value\n";
constexpr std::string_view kRow =
    "Sub,Default_Sub-op0,0,0,1733905446819790,input,0,4,float32,\"()\",3,3,3,\n";

std::string rewrite(const StatisticCsv& csv) {
  std::string text = encode_statistic_header(csv.columns);
  for (const StatisticCsvRow& row : csv.rows) append_statistic_row(text, row, csv.trailing_comma);
  return text;
}

TEST(StatisticCsv, BytesOfTheOriginal) {
  const std::string text = std::string(kHeader) + std::string(kRow);
  auto csv = decode_statistic_csv(text);
  ASSERT_TRUE(csv) << csv.error().message();
  EXPECT_EQ(csv->columns, kDefaultColumns);
  EXPECT_TRUE(csv->trailing_comma);
  ASSERT_EQ(csv->rows.size(), 1u);
  EXPECT_EQ(csv->rows[0].op_name, "Default_Sub-op0");
  EXPECT_EQ(csv->rows[0].shape, "()");
  EXPECT_EQ(csv->rows[0].values, (std::vector<std::string>{"3", "3", "3"}));
  EXPECT_EQ(rewrite(*csv), text);
}

TEST(StatisticCsv, NoColumnsAndCommaInShape) {
  const std::string text =
      "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape\n"
      "Add,a,0,0,1,output,0,24,float32,\"(2,3)\",\n";
  auto csv = decode_statistic_csv(text);
  ASSERT_TRUE(csv);
  ASSERT_EQ(csv->rows.size(), 1u);
  EXPECT_EQ(csv->rows[0].shape, "(2,3)");
  EXPECT_TRUE(csv->rows[0].values.empty());
  EXPECT_EQ(rewrite(*csv), text);
}

// As msprobe writes them for O2 since MindSpore 2.6, from statistics of the device and from checksums.
TEST(StatisticCsv, OfMsprobe) {
  constexpr std::string_view kFields =
      "Op Type,Op Name,Task ID,Stream ID,Timestamp,Input/Output,Slot,Data Size,Data Type,Format,Shape";
  auto csv =
      decode_statistic_csv(std::string(kFields) +
                           ",Max Value,L2Norm Value\n"
                           "Add,Default_Add-op0,3,2,1733905446819790,Input,1,24,DT_FLOAT,ND,2x3,3,9.5\n");
  ASSERT_TRUE(csv) << csv.error().message();
  EXPECT_EQ(csv->columns, (std::vector<std::string>{"Max Value", "L2Norm Value"}));
  EXPECT_EQ(csv->damaged_rows, 0u);
  ASSERT_EQ(csv->rows.size(), 1u);
  const StatisticCsvRow& row = csv->rows[0];
  EXPECT_EQ(row.io + row.slot + " " + row.data_bytes + row.dtype + row.format + row.shape,
            "Input1 24DT_FLOATND2x3");
  EXPECT_EQ(row.values, (std::vector<std::string>{"3", "9.5"}));
  for (const std::string shape : {"\"(2,3)\"", "(2,3)"}) {
    csv = decode_statistic_csv(std::string(kFields) + ",MD5 Value\nAdd,a,0,0,1,output,0,24,float32,NCHW," +
                               shape + ",0123456789abcdef\n");
    ASSERT_TRUE(csv) << csv.error().message();
    ASSERT_EQ(csv->rows.size(), 1u) << shape;
    EXPECT_EQ(csv->rows[0].shape, "(2,3)");
    EXPECT_EQ(csv->rows[0].values[0], "0123456789abcdef");
  }
}

TEST(StatisticCsv, OlderReleasesHaveNoTrailingComma) {
  const std::string text = std::string(kHeader.substr(0, kHeader.size() - 1)) +
                           ",MD5\nAdd,a,0,0,1,output,0,24,float32,\"(6)\",null,null,1,\n";
  auto csv = decode_statistic_csv(text);
  ASSERT_TRUE(csv);
  EXPECT_FALSE(csv->trailing_comma);
  ASSERT_EQ(csv->rows.size(), 1u);
  EXPECT_EQ(csv->rows[0].values, (std::vector<std::string>{"null", "null", "1", ""}));
  EXPECT_EQ(rewrite(*csv), text);
}

TEST(StatisticCsv, EveryTornRowIsCounted) {
  const std::string whole = std::string(kHeader) + std::string(kRow);
  for (std::size_t length = 1; length < kRow.size(); ++length) {
    auto csv = decode_statistic_csv(whole + std::string(kRow.substr(0, length)));
    ASSERT_TRUE(csv);
    EXPECT_EQ(csv->rows.size(), 1u) << length;
    EXPECT_EQ(csv->damaged_rows, 1u) << length;
    // Another run appended after the torn row was ended.
    csv = decode_statistic_csv(whole + std::string(kRow.substr(0, length)) + "\n" + std::string(kRow));
    EXPECT_EQ(csv->rows.size() + csv->damaged_rows, 3u) << length;
    EXPECT_EQ(csv->damaged_rows, length + 1 == kRow.size() ? 0u : 1u) << length;
  }
}

TEST(StatisticCsv, OtherFilesAreRefused) {
  for (const std::string_view text : {"", "a,b\n", "Op Type,Op Name\n", "Op Type"})
    EXPECT_EQ(decode_statistic_csv(text).error().code(), Code::corrupt) << text;
}

TEST(StatisticCsv, EveryColumnHasAName) {
  for (const std::string_view end : {",,\n", ",,MD5\n"})
    EXPECT_FALSE(decode_statistic_csv(std::string(kHeader.substr(0, kHeader.size() - 1)) + std::string(end)));
}

TEST(StatisticCsv, HeaderPatchedByOtherTools) {
  auto csv =
      decode_statistic_csv(std::string(kHeader.substr(0, kHeader.size() - 1)) + ",\r\n" + std::string(kRow));
  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->columns, kDefaultColumns);
  EXPECT_EQ(csv->rows.size(), 1u);
}

TEST(StatisticCsv, RealFileIsRewrittenByteForByte) {
  const std::filesystem::path path =
      std::filesystem::path(OPDUMP_SOURCE_DIR) /
      "../shared/testdata/mindspore/mstt-msprobe/embedded_extracted/statistic.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no reference data";
  const std::string text = *read_file(path, 1 << 20);
  auto csv = decode_statistic_csv(text);
  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->damaged_rows, 0u);
  EXPECT_EQ(csv->rows.size(), 15u);
  EXPECT_EQ(rewrite(*csv), text);
}

}  // namespace
}  // namespace opdump::format
