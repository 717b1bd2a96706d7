#include "format/tables/op_statistic_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::format {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr std::string_view kHeader = "Input/Output,Index,Data Size,Data Type,Format,Shape";

OpStatisticCsv decode(std::string_view columns, std::string_view rows) {
  auto csv = decode_op_statistic_csv(std::string(kHeader) + std::string(columns) + "\n" + std::string(rows));
  EXPECT_TRUE(csv) << csv.error().message();
  return std::move(*csv);
}

TEST(OpStatisticCsv, RowsByTheirHeader) {
  const auto csv =
      decode(",Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count",
             "Output,0,640000,DT_FLOAT,NHWC,4x50x50x16,1.99999,1,1.50004,160000,0,0,0\n"
             "Input,3,2,DT_FLOAT16,ND,-,nan,-inf,1e-07,1,1,0,0\n");
  ASSERT_EQ(csv.rows.size(), 2u);
  EXPECT_EQ(csv.rows[0].side, model::Side::output);
  EXPECT_EQ(csv.rows[0].dtype, model::DType::float32);
  EXPECT_EQ(csv.rows[0].format, "NHWC");
  EXPECT_EQ(csv.rows[0].shape, (model::Shape{4, 50, 50, 16}));
  EXPECT_EQ(csv.rows[0].values[4], (std::pair<std::string, std::string>{"NaN Count", "0"}));
  EXPECT_EQ(csv.rows[1].side, model::Side::input);
  EXPECT_EQ(csv.rows[1].index, 3u);
  EXPECT_FALSE(csv.rows[1].shape);
  const auto chosen = decode(",Count,Max Value,l2norm", "Output,0,4,UNKNOW,-,2,NA,1,\r\n");
  EXPECT_THAT(chosen.rows.at(0).values, ElementsAre(Pair("Max Value", "1")));
  EXPECT_EQ(chosen.rows[0].dtype, model::DType::undefined);
  EXPECT_EQ(chosen.rows[0].format, "");
}

TEST(OpStatisticCsv, DamageIsCounted) {
  const auto csv = decode(",Max Value,Count",
                          "Output,0,4,DT_FLOAT,ND,1,1,1\n"   // whole
                          "Output,0,4,DT_FLOAT,ND,1,,\n"     // nothing computed
                          "Output,0,4,DT_FLOAT,ND,1,,,,\n"   // a comma more
                          "Output,0,4,DT_FLOAT,ND,1,1\n"     // a field less
                          "Outputs,0,4,DT_FLOAT,ND,1,1,1\n"  // no side
                          "Output,-1,4,DT_FLOAT,ND,1,1,1\n"
                          "\n"
                          "Output,0,4,DT_FLOAT,ND,1,1,1");  // torn
  EXPECT_EQ(csv.rows.size(), 3u);
  EXPECT_EQ(csv.damaged_rows, 4u);
  for (const char* text : {"", "Op Type,Op Name\n", "Input/Output,Index,Data Size,Data Type,Format,Shapes\n",
                           "Input/Output,Index,Data Size,Data Type,Format,Shape"})
    EXPECT_FALSE(decode_op_statistic_csv(text)) << text;
}

}  // namespace
}  // namespace opdump::format
