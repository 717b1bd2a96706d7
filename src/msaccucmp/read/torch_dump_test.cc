#include "msaccucmp/read/torch_dump.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

using format::H5Attribute;
using model::DType;
using model::TensorView;

class TorchDumps : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Tensors of one element.
  TorchDump open(const std::vector<std::string>& paths, std::int64_t device) const {
    std::filesystem::create_directories(directory_);
    const std::string path = directory_ / (std::to_string(device) + ".h5");
    auto writer = format::H5Writer::create(path);
    const std::array attributes = {H5Attribute{"DeviceType", false, {device}},
                                   H5Attribute{"DataType", false, {1}}, H5Attribute{"Type", false, {0}},
                                   H5Attribute{"Stride", true, {1}}};
    for (const std::string& name : paths)
      EXPECT_TRUE(
          writer->write_dataset(name, TensorView::row_major(DType::float32, {1}, &value_), attributes));
    EXPECT_TRUE(
        writer->write_dataset("/add/5/output/text", TensorView::row_major(DType::int8, {1}, &value_), {}));
    EXPECT_TRUE(writer->close());
    auto dump = TorchDump::open(path, true, log_);
    EXPECT_TRUE(dump);
    return std::move(*dump);
  }

  static std::vector<std::string> paths_in(const TorchDump& dump, const TorchCall& call) {
    std::vector<std::string> paths;
    for (std::size_t i = call.begin; i < call.end; ++i) paths.push_back(dump.tensor(i).path);
    return paths;
  }

  mutable Log log_;

 private:
  const float value_ = 1;
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("opdump_torch_dump_" + std::to_string(::getpid()));
};

TEST_F(TorchDumps, NumberExecutionsOfEachOperator) {
  const std::vector<std::string> add_1 = {"/add/01/output/a", "/add/1/output/a/0", "/add/1/output/a.b"};
  std::vector<std::string> paths = {"/add/10/output/a", "/add/9/output/a", "/a/2/output/a",
                                    "/add/x/output/a"};
  paths.insert(paths.end(), add_1.begin(), add_1.end());
  const TorchDump dump = open(paths, kNpuDevice);
  EXPECT_EQ(dump.device(), kNpuDevice);
  EXPECT_EQ(dump.order_after_all(), 11);
  ASSERT_EQ(dump.tensor_count(), 6U);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < dump.call_count(); ++i) keys.push_back(dump.call(i).key);
  EXPECT_EQ(keys, (std::vector<std::string>{"a:0", "add:0", "add:1", "add:2", "add:3"}));
  EXPECT_EQ(paths_in(dump, dump.call(1)), add_1);
  EXPECT_EQ(dump.find("add:3")->order, 10);
  for (const char* key : {"add:1", "add:4", "add:-1", "add:00", "ad:0", "b:0", "add", ""})
    EXPECT_FALSE(dump.find(key)) << key;
}

TEST_F(TorchDumps, FindTensors) {
  const TorchDump dump = open({"/add/01/output/a", "/add/1/output/a/0", "/add/1/output/a.b"}, kNpuDevice);
  for (std::size_t i = 0; i < dump.tensor_count(); ++i) {
    const auto found = dump.find_tensor(dump.tensor(i).path);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->path, dump.tensor(i).path);
    EXPECT_EQ(found->shape, model::Shape({1}));
    EXPECT_EQ(found->stored_bytes, 4U);
    ASSERT_TRUE(found->extent);
    EXPECT_EQ(found->extent->bytes, 4U);
    EXPECT_EQ(found->find_number("DataType"), 1);
    EXPECT_EQ(found->attributes.back(), (H5Attribute{"Stride", true, {1}}));
    EXPECT_EQ(*dump.read(*found, log_)->bytes, *dump.read(dump.tensor(0), log_)->bytes);
  }
  for (const char* path : {"/add/1/output/a", "/add/5/output/text", "/add/2/output/a", "/b/1/output/a", "x"})
    EXPECT_FALSE(dump.find_tensor(path)) << path;
}

TEST_F(TorchDumps, ConvolutionsAreCountedTogether) {
  const TorchDump golden =
      open({"/CudnnConvolutionBackward/1/output/a", "/CudnnConvolutionBackward/3/output/a",
            "/ThnnConvDepthwise2DBackward/2/output/a", "/ThnnConvDepthwise2DBackward/3/output/b",
            "/sub/4/output/a"},
           kCpuDevice);
  EXPECT_EQ(golden.find("CudnnConvolutionBackward:0")->order, 1);
  EXPECT_EQ(golden.find("ThnnConvDepthwise2DBackward:1")->order, 2);
  EXPECT_FALSE(golden.find("CudnnConvolutionBackward:2"));  // another one has its number
  EXPECT_FALSE(golden.find_tensor("/CudnnConvolutionBackward/3/output/a"));
  EXPECT_EQ(paths_in(golden, *golden.find("ThnnConvDepthwise2DBackward:2")),
            std::vector<std::string>{"/ThnnConvDepthwise2DBackward/3/output/b"});

  const TorchDump mine = open({"/NpuConvolutionBackward/1/output/a", "/NpuConvolutionBackward/2/output/a",
                               "/NpuConvolutionBackward/3/output/a"},
                              kNpuDevice);
  std::vector<std::string> lost;
  TorchPairing(mine, golden).visit_unmatched([&](const auto& tensor) { lost.push_back(tensor.path); });
  EXPECT_EQ(lost, (std::vector<std::string>{"/ThnnConvDepthwise2DBackward/3", "/sub/4"}));
}

}  // namespace
}  // namespace opdump::msaccucmp
