#include "format/tables/acl_statistic_csv.h"

#include <gtest/gtest.h>

#include <limits>

namespace opdump::format {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(AclStatisticCsv, TheUsualColumns) {
  std::string text = encode_acl_statistic_header({});
  AclStatisticRow row{.side = model::Side::input,
                      .index = 0,
                      .data_bytes = 48,
                      .data_type = 1,
                      .format = "NCHW",
                      .shape = {1, 3, 2, 2},
                      .values = AclStatistics{.max = 1234567,
                                              .min = -0.5,
                                              .avg = kInf,
                                              .count = 12,
                                              .nan_count = 1,
                                              .negative_inf_count = 0,
                                              .positive_inf_count = 2}};
  append_acl_statistic_row(text, {}, row);
  row = {.side = model::Side::output,
         .index = 1,
         .data_bytes = 8,
         .data_type = 16,
         .format = "ND",
         .shape = {},
         .values = {}};
  append_acl_statistic_row(text, {}, row);
  row.data_type = 0;
  row.format = "";
  append_acl_statistic_row(text, {}, row);
  EXPECT_EQ(
      text,
      "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
      "Negative Inf Count,Positive Inf Count\n"
      "Input,0,48,DT_FLOAT,NCHW,1x3x2x2,1.23457e+06,-0.5,inf,12,1,0,2\n"
      "Output,1,8,DT_COMPLEX64,ND,-,,,,,,,\n"
      "Output,1,8,-,-,-,,,,,,,\n");
}

TEST(AclStatisticCsv, AChoiceOfThem) {
  const AclStatisticColumns columns{.max = true,
                                    .min = false,
                                    .avg = false,
                                    .nan = false,
                                    .negative_inf = false,
                                    .positive_inf = true,
                                    .l2norm = true};
  std::string text = encode_acl_statistic_header(columns);
  AclStatisticRow row{.side = model::Side::output,
                      .index = 0,
                      .data_bytes = 8,
                      .data_type = 2,
                      .format = "ND",
                      .shape = {4},
                      .values = AclStatistics{.max = 3, .l2norm = 5, .count = 4, .positive_inf_count = 0}};
  append_acl_statistic_row(text, columns, row);
  row.values.reset();
  row.data_type = 0;
  append_acl_statistic_row(text, columns, row);
  EXPECT_EQ(text,
            "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Positive Inf Count,l2norm\n"
            "Output,0,8,DT_FLOAT16,ND,4,4,3,0,5\n"
            "Output,0,8,UNKNOW,ND,4,NA,NA,NA,NA\n");
}

}  // namespace
}  // namespace opdump::format
