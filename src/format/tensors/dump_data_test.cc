#include "format/tensors/dump_data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/file/file.h"
#include "format/tensors/dump_names.h"

namespace opdump::format {
namespace {

namespace fs = std::filesystem;
using model::DType;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string from_hex(std::string_view digits) {
  std::string text;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    text += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return text;
}

DumpTensor make_tensor(std::int32_t data_type, std::int32_t format, std::vector<std::uint64_t> shape,
                       std::vector<std::uint64_t> original_shape, std::uint64_t size_bytes) {
  DumpTensor tensor;
  tensor.data_type = data_type;
  tensor.format = format;
  tensor.shape = std::move(shape);
  tensor.original_shape = std::move(original_shape);
  tensor.size_bytes = size_bytes;
  return tensor;
}

DumpData everything() {
  DumpTensor input = make_tensor(2, 3, {1, 2, 4, 4, 16}, {1, 20, 4, 4}, 1024);
  input.sub_format = 2;
  input.address = 0xffffffffffffffff;
  input.offset = 8;
  input.arg_index = 3;
  input.input_type = 1;
  DumpTensor output = make_tensor(1, 2, {}, {}, 4);
  output.address = 1;
  output.offset = 2;
  output.arg_index = 4;
  output.origin = DumpOrigin{"conv", 1, 1, 0};
  output.dim_ranges = {{1, 300}, {0, 5}};
  DumpData data;
  data.dump_time_us = 1700000000000001;
  data.op_name = "Default/Conv2D-op1";
  data.dfx_message = "dfx";
  data.inputs = {input, DumpTensor{}};
  data.outputs = {output};
  data.buffers = {{0, 3, {}}};
  data.spaces = {{1, 5, {}}};
  data.attributes = {{"key", "value"}, {"", ""}};
  return data;
}

// Without what is only known after reading.
DumpData fields_of(DumpData data) {
  data.announced_bytes = data.payload_bytes = 0;
  for (auto* list : {&data.inputs, &data.outputs})
    for (DumpTensor& tensor : *list) tensor.data.reset();
  for (auto* list : {&data.buffers, &data.spaces})
    for (DumpBlock& block : *list) block.data.reset();
  return data;
}

TEST(DumpDataTest, HeaderOfTheOriginal) {
  const std::string message = from_hex(
                                  "0a03322e30"
                                  "1083f7ef9f99c8f302"
                                  "1a10080210021a030a010230043a030a0102") +
                              from_hex("320f") + "Default/Add-op0";
  DumpData data;
  data.dump_time_us = 1634155934514051;
  data.op_name = "Default/Add-op0";
  data.outputs.push_back(make_tensor(2, 2, {2}, {2}, 4));
  const std::string header = encode_dump_header(data);
  EXPECT_EQ(header.substr(8), message);
  EXPECT_EQ(header.substr(0, 8), std::string(1, static_cast<char>(message.size())) + std::string(7, '\0'));
  auto read = decode_dump_data(bytes_of(header + "abcd"));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(fields_of(*read), data);
  EXPECT_EQ(read->outputs[0].data, (Extent{header.size(), 4}));
  auto array = read_dump_array(read->outputs[0]);
  ASSERT_TRUE(array);
  EXPECT_EQ(array->dtype, DType::float16);
  EXPECT_EQ(array->shape, model::Shape{2});
}

TEST(DumpDataTest, EveryFieldAndThePlaceOfEveryByte) {
  const DumpData data = everything();
  const std::string header = encode_dump_header(data);
  auto read = decode_dump_data(bytes_of(header + std::string(1024 + 4 + 3 + 5 + 7, 'x')));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(fields_of(*read), data);
  EXPECT_EQ(read->announced_bytes, 1036u);
  EXPECT_EQ(read->payload_bytes, 1043u);
  EXPECT_EQ(read->inputs[0].data, (Extent{header.size(), 1024}));
  EXPECT_EQ(read->inputs[1].data, (Extent{header.size() + 1024, 0}));
  EXPECT_EQ(read->outputs[0].data, (Extent{header.size() + 1024, 4}));
  EXPECT_EQ(read->buffers[0].data, (Extent{header.size() + 1028, 3}));
  EXPECT_EQ(read->spaces[0].data, (Extent{header.size() + 1031, 5}));
}

TEST(DumpDataTest, AShortFileHasNoData) {
  const std::string header = encode_dump_header(everything());
  for (const std::size_t payload : {0, 1, 1024, 1035}) {
    auto read = decode_dump_data(bytes_of(header + std::string(payload, 'x')));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->inputs[0].data, std::nullopt);
    EXPECT_EQ(read->payload_bytes, payload);
    auto array = read_dump_array(read->inputs[0]);
    ASSERT_FALSE(array);
    EXPECT_EQ(array.error().code(), Code::corrupt);
  }
}

TEST(DumpDataTest, DamageOfEveryKind) {
  const std::string good = encode_dump_header(everything()) + std::string(1036, 'x');
  EXPECT_EQ(decode_dump_data({}).error().message(),
            "header: a length of 8 bytes expected, 0 bytes in file; it is empty");
  EXPECT_EQ(decode_dump_data(bytes_of(std::string(8, '\0'))).error().message(),
            "header: 0 bytes announced; it is nothing but zeros");
  EXPECT_EQ(decode_dump_data(bytes_of(std::string("\x09\0\0\0\0\0\0\0ab", 10))).error().message(),
            "header: 9 bytes announced, 2 in file");
  for (std::size_t size = 0; size < good.size(); ++size) (void)decode_dump_data(bytes_of(good).first(size));
  for (std::size_t i = 0; i < good.size() - 1036; ++i) {
    std::string damaged = good;
    for (const char c : {'\0', '\x7f', '\xff'}) {
      damaged[i] = c;
      auto read = decode_dump_data(bytes_of(damaged));
      if (!read) continue;
      for (const DumpTensor& tensor : read->inputs) {
        const Extent data = tensor.data.value_or(Extent{});
        EXPECT_LE(data.offset + data.bytes, damaged.size());
      }
    }
  }
}

TEST(DumpDataTest, AnUnreasonableNumberOfEntries) {
  DumpData data;
  data.inputs.resize(kMaxDumpEntries);
  EXPECT_TRUE(decode_dump_data(bytes_of(encode_dump_header(data))));
  data.inputs.resize(kMaxDumpEntries + 1);
  EXPECT_EQ(decode_dump_data(bytes_of(encode_dump_header(data))).error().code(), Code::limit);
}

TEST(DumpDataTest, ArraysThatCannotBe) {
  DumpTensor tensor = make_tensor(1, 2, {1, 3}, {}, 12);
  tensor.data = Extent{100, 12};
  EXPECT_TRUE(read_dump_array(tensor));
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{4}, {UINT64_MAX}, {1ull << 62}, {1ull << 40, 1ull << 40}}) {
    tensor.shape = shape;
    EXPECT_EQ(read_dump_array(tensor).error().code(), Code::corrupt);
  }
  tensor.shape = {3};
  tensor.data_type = 13;
  EXPECT_EQ(read_dump_array(tensor).error().message(), "dtype STRING; expected one of the numeric types");
  tensor.data_type = -1;
  EXPECT_EQ(read_dump_array(tensor).error().message(), "dtype -1; expected one of the numeric types");
  tensor.data_type = 28;  // two to a byte
  tensor.shape = {23};
  EXPECT_EQ(read_dump_array(tensor)->data, (Extent{100, 12}));
  tensor.shape = {25};
  EXPECT_FALSE(read_dump_array(tensor));
}

TEST(DumpDataTest, Numbers) {
  std::set<std::int32_t> numbers;
  for (int i = 1; i < model::kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dump_dtype(dump_dtype_number(dtype)), dtype);
    EXPECT_TRUE(numbers.insert(dump_dtype_number(dtype)).second);
  }
  EXPECT_EQ(dump_dtype_number(DType::undefined), 0);
  EXPECT_EQ(dump_dtype_number(DType::bfloat16), 27);
  EXPECT_EQ(dump_dtype_number(DType::float8_e4m3), 35);
  EXPECT_EQ(dump_dtype_name(42), "HIFLOAT4_SCALE");
  EXPECT_EQ(dump_dtype_name(43), "");
  EXPECT_EQ(dump_dtype(-1), DType::undefined);
  for (const auto& [number, name] :
       std::initializer_list<std::pair<int, std::string_view>>{{0, "NCHW"},
                                                               {2, "ND"},
                                                               {16, "HWCN"},
                                                               {29, "FRACTAL_NZ"},
                                                               {40, "RESERVED"},
                                                               {49, "C1HWC0"},
                                                               {54, "NZ_C0_8"}}) {
    EXPECT_EQ(dump_format_name(number), name);
    EXPECT_EQ(find_dump_format(name), number);
  }
  EXPECT_EQ(dump_format_name(255), "");
  EXPECT_EQ(find_dump_format("DefaultFormat"), std::nullopt);
}

// Files made for the original's own tool.
class SyntheticFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(root_)) GTEST_SKIP() << root_ << " is not here";
  }
  Result<DumpData> read(const fs::path& path) {
    auto text = read_file(path, 1 << 30);
    if (!text) return text.take_error();
    text_ = std::move(*text);
    return decode_dump_data(bytes_of(text_));
  }
  const fs::path root_ = fs::path(OPDUMP_SOURCE_DIR) / "../shared/testdata/cann/synthetic";
  std::string text_;
};

TEST_F(SyntheticFiles, AreReadAndWrittenAgain) {
  std::size_t count = 0;
  for (const char* folder : {"my", "npu2", "formats", "dtypes", "overflow_old", "overflow_new_aic"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root_ / folder)) {
      if (!entry.is_regular_file()) continue;
      auto data = read(entry.path());
      ASSERT_TRUE(data) << entry.path() << data.error().message();
      EXPECT_EQ(data->version, "2.0");
      EXPECT_EQ(data->announced_bytes, data->payload_bytes) << entry.path();
      const std::string header = encode_dump_header(*data);
      EXPECT_EQ(text_.substr(0, header.size()), header) << entry.path();
      ++count;
    }
  }
  EXPECT_GT(count, 60u);
}

TEST_F(SyntheticFiles, VersionOne) {
  auto data = read(root_ / "v1/Relu.relu1.4.5.1700000000008001");
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_EQ(data->version, "1.0");
  ASSERT_EQ(data->outputs.size(), 1u);
  auto array = read_dump_array(data->outputs[0]);
  ASSERT_TRUE(array) << array.error().message();
  EXPECT_EQ(array->shape, (model::Shape{2, 3}));
  EXPECT_EQ(array->data, (Extent{0x15, 24}));
}

TEST_F(SyntheticFiles, DamagedOnes) {
  for (const auto& entry : fs::directory_iterator(root_ / "bad")) {
    const std::string name = entry.path().filename().string();
    auto data = read(entry.path());
    if (name.find("payload") == std::string::npos) {
      ASSERT_FALSE(data) << name;
      EXPECT_EQ(data.error().code(), Code::corrupt) << name;
    } else {
      ASSERT_TRUE(data) << name << data.error().message();
      EXPECT_EQ(read_dump_array(data->inputs[0]).operator bool(), name.starts_with("Relu.extra")) << name;
    }
  }
}

}  // namespace
}  // namespace opdump::format
