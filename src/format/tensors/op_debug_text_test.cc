#include "format/tensors/op_debug_text.h"

#include <gtest/gtest.h>

#include "format/tensors/op_debug.h"

namespace opdump::format {
namespace {

std::vector<std::byte> newer(std::uint32_t version, std::uint32_t unit, std::size_t size) {
  std::vector<std::byte> record(size);
  const std::uint32_t head[] = {0x5a5a5a5a, version, 1, unit, 0, 88};
  for (std::size_t i = 0; i < 24 && i < size; ++i)
    record[i] = static_cast<std::byte>(head[i / 4] >> 8 * (i % 4) & 0xFF);
  for (std::size_t i = 24; i < size; i += 8) record[i] = static_cast<std::byte>(i / 8);
  return record;
}

TEST(OpDebugText, OlderKind) {
  OpDebug record;
  record.ai_core.task_id = 3;
  record.ai_core.kernel_code = 0xabc;
  const auto text = format_op_debug(encode_op_debug(record));
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->json.starts_with("{\n    \"DHA Atomic Add\": {\n        \"model_id\": 0,\n"));
  EXPECT_NE(text->json.find(
                "\"kernel_code\": \"0xabc\",\n        \"block_idx\": 0,\n        \"status\": 0\n    }\n}"),
            std::string::npos);
  EXPECT_TRUE(text->remarks.empty());
}

TEST(OpDebugText, StatusOfVersion1IsAList) {
  const auto text = format_op_debug(newer(1, 0, 24 + 14 * 8));
  ASSERT_TRUE(text);
  EXPECT_NE(text->json.find("\"status\": [\n                13,\n                14,\n"), std::string::npos);
  ASSERT_EQ(text->remarks.size(), 1u);
  EXPECT_EQ(text->remarks[0],
            "The value of data_len in the OpDebug file is 88, it is not equal the expect value 112");
}

TEST(OpDebugText, EveryCutOfARecordIsRefused) {
  for (std::size_t size = 0; size < 24 + 11 * 8; ++size)
    EXPECT_FALSE(format_op_debug(newer(0, 1, size))) << size;
  EXPECT_TRUE(format_op_debug(newer(0, 1, 24 + 11 * 8)));
}

TEST(OpDebugText, UnknownUnit) {
  EXPECT_EQ(format_op_debug(newer(0, 4, 2048)).error().code(), Code::unsupported);
}

}  // namespace
}  // namespace opdump::format
