#include "format/tensors/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tensor_view.h"

namespace opdump::format {
namespace {

using model::DType;
using model::Shape;
using testing::HasSubstr;

std::string file_of(const std::string& header, std::size_t data) {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) file.push_back(static_cast<char>(header.size() >> 8 * i & 0xFF));
  return file + header + std::string(data, '\0');
}

Result<std::vector<StoredSafetensors>> decode(const std::string& file) {
  std::vector<StoredSafetensors> tensors;
  OPDUMP_CHECK_OK(decode_safetensors(std::as_bytes(std::span(file)), [&](StoredSafetensors tensor) {
    tensors.push_back(std::move(tensor));
  }));
  return tensors;
}

Result<std::string> finish(SafetensorsHeader header) {
  std::string text;
  OPDUMP_CHECK_OK(header.finish([&](std::string_view piece) {
    text += piece;
    return ok();
  }));
  return text;
}

TEST(Safetensors, WritesNoMoreThanOthersRead) {
  const std::string start = *finish(SafetensorsHeader());
  EXPECT_EQ(start.substr(8, 2), "{}");
  EXPECT_EQ(decode(start)->size(), 0u);
  SafetensorsHeader header;
  EXPECT_FALSE(header.add("c", DType::complex128, Shape{2}));
  for (char c = 'a'; c < 'c'; ++c)
    ASSERT_TRUE(header.add(std::string(50'000'000, c), DType::float32, Shape{2}));
  EXPECT_EQ(finish(std::move(header)).error().code(), Code::limit);
}

TEST(Safetensors, ReadsWhatItWrites) {
  const SafetensorsEntry entries[] = {{"b", DType::bfloat16, Shape{2, 3}},
                                      {"a", DType::float32, Shape{}},
                                      {"empty", DType::int8, Shape{0, 4}}};
  SafetensorsHeader header;
  for (const SafetensorsEntry& entry : entries) ASSERT_TRUE(header.add(entry.name, entry.dtype, entry.shape));
  const std::string file = *finish(std::move(header)) + std::string(16, '\0');
  const auto read = decode(file);
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->size(), 3u);
  std::uint64_t offset = file.size() - 16;
  for (std::size_t i = 0; i < 3; ++i) {
    const StoredSafetensors& tensor = (*read)[i];
    EXPECT_EQ(tensor.fault, "");
    EXPECT_EQ(tensor.entry.name, entries[i].name);
    EXPECT_EQ(tensor.entry.dtype, entries[i].dtype);
    EXPECT_EQ(tensor.entry.shape, entries[i].shape);
    EXPECT_EQ(tensor.data.offset, offset);
    offset += tensor.data.bytes;
  }
  EXPECT_EQ(offset, file.size());
  EXPECT_TRUE(is_safetensors(std::as_bytes(std::span(file)).first(9)));
}

// A header of nearly 100 MB, most of it in a file while it is made.
TEST(Safetensors, ReadsAllThatItWrites) {
  constexpr std::uint64_t kCount = 200'000;
  SafetensorsHeader header;
  for (std::uint64_t i = 0; i < kCount; ++i)
    ASSERT_TRUE(
        header.add("layer" + std::to_string(i) + ".output.0" + std::string(400, '.'), DType::int8, Shape{1}));
  auto file = finish(std::move(header));
  ASSERT_TRUE(file) << file.error().message();
  const std::size_t begin = file->size();
  EXPECT_GT(begin, 90'000'000U);
  file->append(kCount, 'x');
  const auto bytes = std::as_bytes(std::span(*file));
  EXPECT_TRUE(is_safetensors(bytes));
  std::uint64_t count = 0;
  const auto read = decode_safetensors(bytes, [&](const StoredSafetensors& tensor) {
    EXPECT_EQ(tensor.fault, "");
    EXPECT_EQ(tensor.data.offset, begin + count++);
  });
  EXPECT_TRUE(read) << read.error().message();
  EXPECT_EQ(count, kCount);
}

TEST(Safetensors, TakesMetadataAndAnyOrder) {
  const auto read = decode(file_of(R"({"__metadata__":{"format":"pt"},)"
                                   R"("a":{"dtype":"I16","shape":[1],"data_offsets":[4,6]},)"
                                   R"("b":{"data_offsets":[0,4],"shape":[2,2],"dtype":"U8"}}   )",
                                   6));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].entry.name, "a");
  EXPECT_EQ((*read)[0].data.offset, (*read)[1].data.offset + 4);
  EXPECT_EQ((*read)[1].entry.name, "b");
}

TEST(Safetensors, SaysWhatCannotBeRead) {
  const auto fault = [](const std::string& entry) {
    const auto read = decode(file_of(R"({"a":)" + entry + "}", 8));
    return read && read->size() == 1 ? (*read)[0].fault : "none";
  };
  EXPECT_EQ(fault(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"), "");
  EXPECT_THAT(fault(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), HasSubstr("8 bytes for F32 (3)"));
  EXPECT_THAT(fault(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})"), HasSubstr("beyond the end"));
  EXPECT_THAT(fault(R"({"dtype":"F32","shape":[0],"data_offsets":[8,4]})"), HasSubstr("beyond the end"));
  EXPECT_THAT(fault(R"({"dtype":"Q7","shape":[2],"data_offsets":[0,8]})"), HasSubstr("Q7"));
  EXPECT_THAT(fault(R"({"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]})"),
              HasSubstr("8 bytes for"));
  for (const char* entry : {"7", "{}", R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})",
                            R"({"dtype":"F32","shape":[[2]],"data_offsets":[0,8]})",
                            R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})",
                            R"({"dtype":1,"shape":[2],"data_offsets":[0,8]})",
                            R"({"dtype":"F32","shape":[2],"data_offsets":[8]})", R"([["dtype"]])", "null",
                            R"({"dtype":"F32","shape":{"shape":[2]},"data_offsets":[0,8]})",
                            R"({"dtype":"F32","shape":[2,{"a":1}],"data_offsets":[0,8]})",
                            R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})",
                            R"({"dtype":"F32","shape":[2],"shape":[true],"data_offsets":[0,8]})"})
    EXPECT_THAT(fault(entry), HasSubstr("no dtype, shape and data_offsets")) << entry;
}

TEST(Safetensors, RefusesDamagedHeaders) {
  for (const std::string& file :
       {std::string(), std::string("1234567"), file_of("[]", 0), file_of("{\"a\":", 0), file_of("", 4),
        file_of("{}", 0).substr(0, 9), std::string(16, '\xFF'), file_of(std::string(5000, '['), 0)})
    EXPECT_FALSE(decode(file));
  EXPECT_EQ(decode(file_of("{}" + std::string(100'000'000, ' '), 0)).error().code(), Code::limit);
}

}  // namespace
}  // namespace opdump::format
