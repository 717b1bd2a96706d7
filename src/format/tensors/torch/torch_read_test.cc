#include "format/tensors/torch/torch_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/fd.h"
#include "base/file/file.h"
#include "format/tensors/torch/pickle.h"
#include "format/tensors/torch/torch_file.h"

namespace opdump::format {
namespace {

using model::DType;
using model::Shape;
using testing::HasSubstr;
using Kind = PickleValue::Kind;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Result<std::vector<StoredTorchTensor>> read(std::string_view file) {
  std::vector<StoredTorchTensor> tensors;
  OPDUMP_CHECK_OK(list_torch_tensors(
      bytes_of(file), [&](StoredTorchTensor tensor) { tensors.push_back(std::move(tensor)); }));
  return tensors;
}

// As TorchFileWriter writes six numbers, with another pickle of the same size.
std::string file_of(const std::function<void(std::string&)>& change = [](std::string&) {}) {
  std::array<char, 40> path{"/tmp/opdump_torch_XXXXXX"};
  const Fd fd(::mkstemp(path.data()));
  auto tensor = describe_torch_tensor(DType::float32, Shape{2, 3});
  EXPECT_TRUE(tensor);
  change(tensor->pickle);
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  TorchFileWriter writer(fd, path.data());
  EXPECT_TRUE(writer.begin(*tensor) && writer.add(std::as_bytes(std::span(values))) && writer.end());
  auto text = read_file(path.data(), 1 << 20);
  ::unlink(path.data());
  EXPECT_TRUE(text);
  return text ? *text : "";
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  ASSERT_NE(text.find(from), text.npos);
  text.replace(text.find(from), from.size(), to);
}

TEST(TorchRead, WhatIsWritten) {
  const std::string file = file_of();
  EXPECT_TRUE(is_torch_file(bytes_of(file).first(kTorchStartBytes)));
  const auto tensors = read(file);
  ASSERT_TRUE(tensors) << tensors.error().message();
  ASSERT_EQ(tensors->size(), 1U);
  const StoredTorchTensor& tensor = tensors->front();
  EXPECT_EQ(tensor.name + tensor.fault, "");
  EXPECT_EQ(tensor.dtype, DType::float32);
  EXPECT_EQ(tensor.shape, (Shape{2, 3}));
  float last = 0;
  file.copy(reinterpret_cast<char*>(&last), sizeof last, tensor.data.offset + 5 * sizeof last);
  EXPECT_EQ(last, 6);
  EXPECT_EQ(tensor.data.bytes, 24U);
}

TEST(TorchRead, FaultsOfOneTensor) {
  const auto fault = [](std::string_view from, std::string_view to) {
    const auto tensors = read(file_of([&](std::string& pickle) { replace(pickle, from, to); }));
    EXPECT_TRUE(tensors && tensors->size() == 1) << from;
    return tensors && tensors->size() == 1 ? tensors->front().fault : "";
  };
  EXPECT_THAT(fault("FloatStorage", "BlobtStorage"), HasSubstr("unknown dtype, torch BlobtStorage"));
  EXPECT_THAT(fault("K\x02K\x03t", "K\x07K\x03t"), HasSubstr("torn file: 6 elements in data/0"));
  EXPECT_THAT(fault("K\x03K\x01t", "K\x03K\x02t"),
              HasSubstr("torn file: 6 elements in data/0, and it has 8"));
  EXPECT_THAT(fault("_rebuild_tensor_v2", "_rebuild_sparse_xy"), HasSubstr("not a plain tensor"));
}

// Another order, and elements that are there several times.
TEST(TorchRead, Strides) {
  const auto read_with = [](std::string_view shape, std::string_view strides) {
    auto tensors = read(file_of([&](std::string& pickle) {
      const std::size_t size = pickle.size();
      replace(pickle, "K\x03K\x01t", strides);
      replace(pickle, "K\x02K\x03t", shape);
      pickle.erase(pickle.find("collections"), pickle.size() - size);  // whose name does not matter
    }));
    EXPECT_TRUE(tensors && tensors->size() == 1);
    return tensors ? tensors->front() : StoredTorchTensor();
  };
  const StoredTorchTensor columns = read_with("K\x03K\x02t", "K\x01K\x03t");
  EXPECT_EQ(columns.fault, "");
  EXPECT_EQ(columns.strides, (Shape{1, 3}));
  EXPECT_EQ(columns.data.bytes, 24U);
  const StoredTorchTensor row = read_with("K\xffK\x03t", std::string_view("K\0K\x01t", 5));
  EXPECT_EQ(row.fault, "");
  EXPECT_EQ(row.strides, (Shape{0, 1}));
  EXPECT_EQ(row.data.bytes, 12U);
  EXPECT_THAT(
      read_with(std::string_view("J\0\0\0\x70J\x03\0\0\0t", 11), std::string_view("K\0K\x01t", 5)).fault,
      HasSubstr("more than 4 GiB"));
  EXPECT_THAT(read_with("K\x02K\x03t", "J\xff\xff\xff\xffK\x01t").fault, HasSubstr("no tensor has"));
}

TEST(TorchRead, OtherFiles) {
  EXPECT_FALSE(is_torch_file(bytes_of("PK\x03\x04")));
  EXPECT_FALSE(read("PK\x03\x04"));
  EXPECT_FALSE(read(""));
  const auto old = read("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19");
  ASSERT_FALSE(old);
  EXPECT_THAT(old.error().message(), HasSubstr("before 1.6"));
}

TEST(TorchRead, PicklesAreDescribedAndNothingElse) {
  // {"a": [1, True]} and a call of os.system
  using std::string_view_literals::operator""sv;
  const auto pickle =
      decode_pickle(bytes_of("\x80\x02}X\x01\0\0\0a](K\x01\x88"
                             "es."sv));
  ASSERT_TRUE(pickle) << pickle.error().message();
  const PickleValue& root = pickle->values[pickle->root];
  ASSERT_EQ(root.kind, Kind::dict);
  ASSERT_EQ(root.items.size(), 2U);
  EXPECT_EQ(pickle->values[root.items[0]].text, "a");
  EXPECT_EQ(pickle->values[root.items[1]].items.size(), 2U);
  const auto call = decode_pickle(bytes_of("cos\nsystem\n)R."));
  ASSERT_TRUE(call);
  EXPECT_EQ(call->values[call->root].kind, Kind::call);
}

TEST(TorchRead, DamagedPickles) {
  for (const std::string_view text : {"", "(", ".", "t.", "h\x05.", "K", "X\xff\xff\xff\xff", "a.", "\xfe."})
    EXPECT_FALSE(decode_pickle(bytes_of(text))) << text;
  using namespace std::literals;
  const auto empty_number = decode_pickle(bytes_of("\x8a\0."sv));
  ASSERT_TRUE(empty_number);
  EXPECT_EQ(empty_number->values[empty_number->root].number, 0);
  std::string long_name = "X"s + '\x90' + "\x01\0\0"s + std::string(400, 'm');  // 400 characters
  EXPECT_FALSE(decode_pickle(bytes_of(long_name + "2\x93.")));
  EXPECT_TRUE(decode_pickle(bytes_of(long_name + ".")));
}

}  // namespace
}  // namespace opdump::format
