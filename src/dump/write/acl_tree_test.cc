#include "dump/write/acl_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "base/file/file.h"
#include "dump/temp_directory_test.h"
#include "dump/write/call_data.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/dump_names.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using model::DType;
using model::Side;
using model::TensorView;
using testing::ElementsAre;

constexpr std::uint64_t kTime = 1733905446819790;  // 2024-12-11 08:24:06 UTC

class AclTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    options_.root = directory_.path();
    options_.device = 2;
    options_.time_directory = format_local_time(kTime);
    std::iota(values_.begin(), values_.end(), 0.f);
  }
  std::unique_ptr<SchemeWriter> open() {
    auto tree = open_acl_tree(options_);
    EXPECT_TRUE(tree) << tree.error().message();
    if (tree) (*tree)->name_graph(5, "res net.50/a");
    return tree ? std::move(*tree) : nullptr;
  }
  SlotAddress address(Side side = Side::output, std::uint32_t index = 0, std::int64_t graph_id = 5) const {
    return {
        .op = &op_, .graph_id = graph_id, .step = 7, .timestamp_us = kTime + 9, .side = side, .index = index};
  }
  std::string text(const fs::path& path) {
    auto bytes = read_file(path, 1 << 30);
    EXPECT_TRUE(bytes) << bytes.error().message();
    return bytes ? *bytes : "";
  }
  format::DumpData decode(const fs::path& path) {
    bytes_ = text(path);
    auto data = format::decode_dump_data(std::as_bytes(std::span(bytes_)));
    EXPECT_TRUE(data) << data.error().message();
    return data ? *data : format::DumpData();
  }

  TempDirectory directory_;
  AclTreeOptions options_;
  model::Operator op_{
      .type = "Conv2D", .name = "a.b/c:0", .graph_id = 5, .stream = 4, .source_file = {}, .task = 41};
  std::vector<float> values_ = std::vector<float>(1 * 3 * 4 * 5);
  std::string bytes_;
  const fs::path model_ = directory_.path() / "20241211082406/2/res_net_50_a/5/7";
  const std::string name_ = "Conv2D.a_b_c:0.41.4.1733905446819799";
};

TEST_F(AclTreeTest, AnExecutionIsAFileOfItsOwner) {
  auto tree = open();
  ASSERT_TRUE(tree->writes_calls());
  const std::vector<SchemeWriter::Member> members{
      {address(Side::input, 1), TensorView::row_major(DType::float32, {2, 3}, values_.data())},
      {address(Side::output, 0), TensorView::row_major(DType::float32, {1, 3, 4, 5}, values_.data())}};
  const auto path = tree->write_call(members);
  ASSERT_TRUE(path) << path.error().message();
  EXPECT_EQ(*path, model_ / name_);
  struct stat info {};
  ASSERT_EQ(::stat(path->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat(model_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  const format::DumpData data = decode(*path);
  EXPECT_EQ(data.version, "2.0");
  EXPECT_EQ(data.dump_time_us, kTime + 9);
  EXPECT_EQ(data.op_name, "a.b/c:0");
  ASSERT_EQ(data.inputs.size(), 2u);
  EXPECT_EQ(data.inputs[0].data_type, 0);
  EXPECT_EQ(data.inputs[1].size_bytes, 24u);
  EXPECT_EQ(data.outputs[0].format, format::find_dump_format("NCHW"));
  EXPECT_THAT(*data.outputs[0].original_shape, ElementsAre(1, 3, 4, 5));
}

TEST_F(AclTreeTest, OperatorsOfNoModelLieInTheDevicesDirectory) {
  auto tree = open();
  const std::vector<SchemeWriter::Member> members{
      {address(Side::output, 0, model::kAnyGraph),
       TensorView::row_major(DType::float32, {2}, values_.data())}};
  EXPECT_EQ(*tree->write_call(members), directory_.path() / "20241211082406/2" / name_);
}

TEST_F(AclTreeTest, ExceptionsLieApart) {
  options_.exceptions = true;
  auto tree = open();
  const std::vector<SchemeWriter::Member> members{
      {address(Side::input), TensorView::row_major(DType::float32, {2}, values_.data())}};
  EXPECT_EQ(*tree->write_call(members),
            directory_.path() / "extra-info/data-dump/2/exception_info.41.4.1733905446819799");
}

TEST_F(AclTreeTest, LongNamesAreHashes) {
  op_.name = std::string(300, 'x');
  auto tree = open();
  const std::vector<SchemeWriter::Member> members{
      {address(), TensorView::row_major(DType::float32, {2}, values_.data())}};
  const auto path = tree->write_call(members);
  ASSERT_TRUE(path);
  const std::string name = "Conv2D." + op_.name + ".41.4.1733905446819799";
  EXPECT_EQ(path->filename(), std::to_string(std::hash<std::string>()((model_ / name).string())));
  EXPECT_EQ(text(model_ / "mapping.csv"), path->filename().string() + "," + name + "\n");
}

TEST_F(AclTreeTest, StatisticsOfAnExecution) {
  options_.statistics = true;
  auto tree = open();
  ASSERT_TRUE(!tree->writes_calls() && tree->lists_all_tensors());
  values_[1] = std::nanf("");
  values_.resize(4);
  const auto statistics =
      math::finish(math::partial_stats(TensorView::row_major(DType::float32, {4}, values_.data()),
                                       {.extremes = true, .sum = true, .counts = true}));
  ASSERT_TRUE(tree->write_statistics(address(Side::input), {16, DType::float32, {2, 2}, statistics, ""}));
  ASSERT_TRUE(
      tree->write_statistics(address(Side::output), {16, DType::float32, {4}, statistics, "", "", "", true}));
  EXPECT_FALSE(fs::exists(model_ / (name_ + ".csv")));
  ASSERT_TRUE(tree->flush());
  EXPECT_EQ(
      text(model_ / (name_ + ".csv")),
      "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
      "Negative Inf Count,Positive Inf Count\n"
      "Input,0,16,DT_FLOAT,ND,2x2,3,0,nan,4,1,0,0\n"
      "Output,0,16,DT_FLOAT,ND,4,nan,nan,nan,4,1,0,0\n");
}

TEST_F(AclTreeTest, OverflowRecordsOfBothKinds) {
  for (const bool newer : {false, true}) {
    options_.newer_overflow_record = newer;
    auto tree = open();
    ASSERT_TRUE(tree->write_overflow(address()));
    const format::DumpData data = decode(model_ / "Opdebug.Node_OpDebug.41.4.1733905446819799");
    ASSERT_EQ(data.outputs.size(), 1u);
    const auto array = format::read_dump_array(data.outputs[0]);
    ASSERT_TRUE(array);
    ASSERT_EQ(array->data.bytes, 2048u);
    EXPECT_EQ(static_cast<unsigned char>(bytes_[array->data.offset]), newer ? 0x5a : 0);
  }
}

TEST_F(AclTreeTest, DeviceFormats) {
  options_.device_formats = {model::Format::nc1hwc0, model::Format::fractal_nz};
  auto tree = open();
  TensorView columns = TensorView::row_major(DType::float32, {5, 3}, values_.data());
  columns.strides = {1, 5};
  const std::vector<SchemeWriter::Member> members{
      {address(Side::input), TensorView::row_major(DType::float32, {1, 3, 4, 5}, values_.data())},
      {address(Side::output), columns},
      {address(Side::output, 1), TensorView::row_major(DType::float32, {3}, values_.data())}};
  const auto path = tree->write_call(members);
  ASSERT_TRUE(path) << path.error().message();
  const format::DumpData data = decode(*path);
  EXPECT_EQ(data.inputs[0].format, format::find_dump_format("NC1HWC0"));
  EXPECT_THAT(data.inputs[0].shape, ElementsAre(1, 1, 4, 5, 16));
  EXPECT_THAT(*data.inputs[0].original_shape, ElementsAre(1, 3, 4, 5));
  EXPECT_EQ(data.outputs[0].format, format::find_dump_format("FRACTAL_NZ"));
  EXPECT_THAT(data.outputs[0].shape, ElementsAre(1, 1, 16, 16));
  EXPECT_EQ(data.outputs[1].format, format::find_dump_format("ND"));
  const auto array = format::read_dump_array(data.outputs[0]);
  ASSERT_TRUE(array);
  float second = 0;
  std::memcpy(&second, &bytes_[array->data.offset + 4], sizeof second);
  EXPECT_EQ(second, 5.f) << "row 0, column 1 of a matrix whose columns are stored one after the other";
}

TEST_F(AclTreeTest, ASinkTakesTheFilesAndTheDiskNothing) {
  std::map<std::string, std::string> files;
  int last = 0;
  options_.sink = [&](const FileChunk& chunk) -> Result<> {
    std::string& file = files[chunk.path.string()];
    EXPECT_EQ(chunk.offset,
              chunk.path.filename() == "mapping.csv" ? -1 : static_cast<std::int64_t>(file.size()));
    file.append(reinterpret_cast<const char*>(chunk.bytes.data()), chunk.bytes.size());
    last += chunk.is_last;
    return ok();
  };
  auto tree = open();
  const std::vector<SchemeWriter::Member> members{
      {address(Side::input), TensorView::row_major(DType::float32, {2, 3}, values_.data())},
      {address(Side::output), TensorView::row_major(DType::float32, {2}, values_.data())}};
  ASSERT_TRUE(tree->write_call(members));
  EXPECT_EQ(last, 1);
  op_.name = std::string(300, 'x');
  ASSERT_TRUE(tree->write_call(members));
  EXPECT_EQ(last, 3);
  EXPECT_TRUE(fs::is_empty(directory_.path()));
  EXPECT_EQ(files.count((model_ / name_).string()), 1u);
  EXPECT_EQ(files.count((model_ / "mapping.csv").string()), 1u);
  options_.sink = nullptr;
  op_.name = "a.b/c:0";
  ASSERT_TRUE(open()->write_call(members));
  EXPECT_EQ(text(model_ / name_), files[(model_ / name_).string()]);
}

}  // namespace
}  // namespace opdump::dump
