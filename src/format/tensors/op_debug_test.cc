#include "format/tensors/op_debug.h"

#include <gtest/gtest.h>

#include <cstring>

#include <filesystem>

#include "base/file/file.h"
#include "format/tensors/dump_data.h"

namespace opdump::format {
namespace {

namespace fs = std::filesystem;

OpDebug sample() {
  OpDebug record;
  record.ai_core = {7, 2, 5, 0, 0x1241, 0x120040, 32, 0xabc, 3};
  record.l2_atomic_add.status = 1;
  record.dha_atomic_add.model_id = UINT64_MAX;
  return record;
}

TEST(OpDebugTest, Json) {
  EXPECT_EQ(encode_op_debug_json(sample()),
            R"({"AI Core":{"block_idx":3,"kernel_code":"0xabc","model_id":7,"para_base":"0x120040",)"
            R"("pc_start":"0x1241","status":32,"stream_id":2,"task_id":5,"task_type":0},)"
            R"("DHA Atomic Add":{"model_id":18446744073709551615,"para_base":"0x0","pc_start":"0x0",)"
            R"("status":0,"stream_id":0,"task_id":0,"task_type":0},)"
            R"("L2 Atomic Add":{"model_id":0,"para_base":"0x0","pc_start":"0x0","status":1,)"
            R"("stream_id":0,"task_id":0,"task_type":0}})");
  auto read = decode_op_debug_json(encode_op_debug_json(sample()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, sample());
}

TEST(OpDebugTest, Blob) {
  const auto blob = encode_op_debug(sample());
  ASSERT_EQ(blob.size(), 2048u);
  const auto number = [&](std::size_t at) { return std::to_integer<int>(blob[at]); };
  EXPECT_EQ(number(0), 255);
  EXPECT_EQ(number(256), 7);
  EXPECT_EQ(number(256 + 16), 5);
  EXPECT_EQ(number(768), 1);
  EXPECT_EQ(number(1024), 0xbc);
  EXPECT_EQ(number(1032), 3);
  EXPECT_EQ(number(1040), 32);
  auto read = decode_op_debug(blob);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, sample());
  EXPECT_FALSE(decode_op_debug(std::span(blob).first(2047)));
}

TEST(OpDebugTest, OtherTextIsRefused) {
  const std::string good = encode_op_debug_json(sample());
  for (const char* text : {"", "{", "[]", "{}", R"({"AI Core":1})"}) EXPECT_FALSE(decode_op_debug_json(text));
  for (const char* piece : {"\"0xabc\"", "32", "\"AI Core\"", "\"0x0\""}) {
    std::string bad = good;
    bad.replace(bad.find(piece), std::string_view(piece).size(), "\"x\"");
    EXPECT_FALSE(decode_op_debug_json(bad)) << bad;
  }
}

TEST(OpDebugTest, RecordsOfTheOriginal) {
  const fs::path data = fs::path(OPDUMP_SOURCE_DIR) / "../shared/testdata/cann";
  if (!fs::exists(data)) GTEST_SKIP() << data << " is not here";
  for (const char* kind : {"overflow_old", "overflow_new_aic"}) {
    const auto file = read_file(
        data / "synthetic" / kind / "20230101000000/0/model/1/0/Opdebug.Node_OpDebug.3.5.1700000000000100",
        1 << 20);
    ASSERT_TRUE(file);
    const auto bytes = std::as_bytes(std::span(*file));
    auto header = decode_dump_data(bytes);
    ASSERT_TRUE(header);
    const Extent extent = *header->outputs.at(0).data;
    auto record = decode_op_debug(bytes.subspan(extent.offset, extent.bytes));
    ASSERT_TRUE(record) << record.error().message();
    EXPECT_EQ(record->ai_core.task_id, 3u) << kind;
    EXPECT_EQ(record->ai_core.stream_id, 5u) << kind;
    EXPECT_NE(record->ai_core.status, 0u) << kind;
    if (kind != std::string_view("overflow_old")) continue;
    const auto json = read_file(
        data / "expected_new/overflow_old/Opdebug.Node_OpDebug.3.5.1700000000000100.output.0.json", 1 << 20);
    ASSERT_TRUE(json);
    auto decoded = decode_op_debug_json(*json);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(*decoded, *record);
  }
}

TEST(OpDebug, TheNewerKind) {
  const OpDebugUnit unit{.model_id = 1, .stream_id = 5, .task_id = 3, .status = 32, .block_idx = 9};
  const auto blob = encode_newer_op_debug(unit);
  ASSERT_EQ(blob.size(), kOpDebugBytes);
  const auto number = [&](std::size_t offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, &blob[offset], sizeof value);
    return value;
  };
  EXPECT_EQ(number(0), 0x5a5a5a5au);
  EXPECT_EQ(number(4), 0u);    // version
  EXPECT_EQ(number(8), 1u);    // valid
  EXPECT_EQ(number(12), 0u);   // AIC
  EXPECT_EQ(number(20), 88u);  // bytes of the fields
  EXPECT_EQ(number(24 + 9 * 8), 9u);
  const auto record = decode_op_debug(blob);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->ai_core.stream_id, 5u);
  EXPECT_EQ(record->ai_core.task_id, 3u);
  EXPECT_EQ(record->ai_core.status, 32u);
}

}  // namespace
}  // namespace opdump::format
