#include "msaccucmp/read/dump_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace opdump::msaccucmp {
namespace {

using testing::HasSubstr;

// A file of dump version 2: the length of its header, the header, the data.
std::string file_of(const std::string& header, const std::string& data = "", std::int64_t more = 0) {
  const auto length = static_cast<std::uint64_t>(static_cast<std::int64_t>(header.size()) + more);
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + data;
}

class DumpHeaders : public testing::Test {
 protected:
  Outcome<DumpHeader> decode(const std::string& file, bool is_strict = false) {
    log_.clear();
    return decode_header("/a/Add.add.1.2.3", std::as_bytes(std::span(file)), is_strict, log_);
  }
  Log log_;
  // Output 0: float32, ND, shape (2), 8 bytes; the operator "add".
  const std::string header_{
      "\x1a\x0a\x08\x01\x10\x02\x1a\x02\x08\x02\x30\x08\x32\x03"
      "add"};
};

TEST_F(DumpHeaders, HoldTensorsAndTheirData) {
  const auto header = decode(file_of(header_, "12345678"));
  ASSERT_TRUE(header);
  EXPECT_TRUE(log_.empty());
  EXPECT_FALSE(header->is_nano);
  EXPECT_EQ(header->data.op_name, "add");
  ASSERT_EQ(header->data.outputs.size(), 1U);
  const format::DumpTensor& output = header->data.outputs[0];
  EXPECT_EQ(shape_of_dims(output.shape), model::Shape({2}));
  ASSERT_TRUE(output.data);
  EXPECT_EQ(output.data->offset, 8 + header_.size());
  EXPECT_EQ(output.data->bytes, 8U);
}

TEST_F(DumpHeaders, OfSmallFilesHaveNoTensors) {
  const auto header = decode("12345678");
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->data.outputs.empty());
  EXPECT_THAT(log_.lines().back().text, HasSubstr("must be greater than 8, but the file size is 8"));
  EXPECT_TRUE(decode(file_of("", "data")));
  EXPECT_TRUE(log_.empty());
}

TEST_F(DumpHeaders, WithoutAllTheirDataAreRefused) {
  const auto header = decode(file_of(header_, "1234"));
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().status, Status::invalid_dump);
  EXPECT_EQ(log_.lines().back().text, "The size of /a/Add.add.1.2.3 is invalid, please check the dump file.");
}

TEST_F(DumpHeaders, LongerThanTheFileAreRefused) {
  const auto header = decode(file_of(header_, "", 1000));
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().status, Status::invalid_dump);
  ASSERT_FALSE(log_.empty());
  EXPECT_THAT(log_.lines()[0].text,
              HasSubstr("The header content size (" + std::to_string(header_.size() + 1000)));
}

TEST_F(DumpHeaders, ThatAreNoMessageAreRefused) {
  const auto header = decode(file_of("\xff\xff\xff\xff", "12345678"));
  ASSERT_FALSE(header);
  EXPECT_EQ(log_.lines().back().text, "Parse dump file to json failed.");
}

TEST(DumpDtypes, OfTheOriginal) {
  EXPECT_EQ(stored_dtype(0), model::DType::int8);  // bytes
  EXPECT_EQ(stored_dtype(1), model::DType::float32);
  EXPECT_EQ(stored_dtype(23), model::DType::int64);  // a resource
  EXPECT_EQ(stored_dtype(999), model::DType::undefined);
  EXPECT_EQ(unsupported_dtype(-1), "The output data type (None) does not support.");
  EXPECT_EQ(unsupported_dtype(99), "The output data type (99) does not support.");
}

TEST(DumpShapes, AreNoLargerThanFiles) {
  EXPECT_EQ(shape_of_dims({}), model::Shape());
  EXPECT_EQ(shape_of_dims({3, 0}), model::Shape({3, 0}));
  EXPECT_EQ(shape_of_dims({UINT64_MAX}), std::nullopt);
}

TEST(LargeFiles, AreRemarkedOn) {
  EXPECT_EQ(large_file_remark("f", std::uint64_t{1} << 30), std::nullopt);
  EXPECT_TRUE(large_file_remark("f", (std::uint64_t{1} << 30) + 1));
}

}  // namespace
}  // namespace opdump::msaccucmp
