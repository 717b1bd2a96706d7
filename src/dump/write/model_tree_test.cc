#include "dump/write/model_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <numeric>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "dump/temp_directory_test.h"
#include "dump/write/call_data.h"
#include "format/tensors/dump_data.h"
#include "format/tensors/dump_names.h"
#include "format/tensors/op_debug.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using model::DType;
using model::Side;
using model::TensorView;

constexpr std::uint64_t kTime = 1733905446819790;  // 2024-12-11 08:24:06 UTC

class ModelTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    options_.root = directory_.path() / "dump";
    options_.net_name = "Net";
    options_.rank = 1;
    options_.device = 3;
    options_.statistic_columns = {"Max Value"};
    options_.time_directory = format_local_time(kTime);
  }
  std::unique_ptr<SchemeWriter> open() {
    auto tree = open_model_tree(options_);
    EXPECT_TRUE(tree) << tree.error().message();
    return std::move(*tree);
  }
  SlotAddress address(Side side = Side::output, std::uint32_t index = 0) const {
    return {.op = &op_, .graph_id = 5, .step = 7, .timestamp_us = kTime + 9, .side = side, .index = index};
  }
  std::string text(const fs::path& path) {
    auto bytes = read_file(path, 1 << 30);
    EXPECT_TRUE(bytes) << bytes.error().message();
    return bytes ? *bytes : "";
  }

  TempDirectory directory_;
  ModelTreeOptions options_;
  model::Operator op_{.type = "aten::Add.Tensor",
                      .name = "Default/a.b:c/Add-op0",
                      .graph_id = 5,
                      .stream = 2,
                      .source_file = {},
                      .task = 41};
  const fs::path step_ = directory_.path() / "dump/7/20241211082406/3/Net/5/7";
  const std::string base_ = "aten__Add_Tensor.Default_a_b_c_Add-op0.41.2.1733905446819799";
};

TEST_F(ModelTreeTest, TensorFilesAndRows) {
  const std::vector<float> values(24, 1.5f);
  auto tree = open();
  const auto path =
      tree->write_tensor(address(), TensorView::row_major(DType::float32, {2, 12}, values.data()));
  ASSERT_TRUE(path) << path.error().message();
  EXPECT_EQ(*path, step_ / (base_ + ".output.0.ND.float32.npy"));
  const auto four = tree->write_tensor(address(Side::input, 2),
                                       TensorView::row_major(DType::float32, {1, 2, 3, 4}, values.data()));
  ASSERT_TRUE(four);
  EXPECT_EQ(*four, step_ / (base_ + ".input.2.NCHW.float32.npy"));
  SlotAddress linked = address(Side::input, 3);
  ASSERT_TRUE(tree->link_tensor(linked, DType::float32, {1, 2, 3, 4}, *four));
  EXPECT_EQ(fs::hard_link_count(step_ / (base_ + ".input.3.NCHW.float32.npy")), 2u);
  linked.format = "NHWC";
  ASSERT_TRUE(tree->link_tensor(linked, DType::float32, {1, 2, 3, 4}, *four));
  EXPECT_TRUE(fs::exists(step_ / (base_ + ".input.3.NHWC.float32.npy")));
  StatisticRow row{96, DType::float32, {2, 12}, {}, ""};
  row.values.max = 1.5;
  ASSERT_TRUE(tree->write_statistics(address(), row));
  ASSERT_TRUE(tree->flush());
  EXPECT_EQ(
      text(step_ / "statistic.csv"),
      "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n"
      "aten__Add_Tensor,Default_a_b_c_Add-op0,41,2,1733905446819799,output,0,96,float32,\"(2,12)\",1.5,\n");
  EXPECT_FALSE(tree->writes_calls());
  EXPECT_TRUE(fs::exists(options_.root / "rank_1"));
}

TEST_F(ModelTreeTest, TheGraphEnginesTreeHasNoStepInFront) {
  options_.step_first = false;
  const float value = 1;
  auto tree = open();
  ASSERT_TRUE(tree->begin_step(7, true, {}));
  const auto path = tree->write_tensor(address(), TensorView::row_major(DType::float32, {1}, &value));
  ASSERT_TRUE(path);
  EXPECT_EQ(path->parent_path(), options_.root / "20241211082406/3/Net/5/7");
  EXPECT_FALSE(fs::exists(options_.root / "acl_dump_3.json"));
}

// One file of an execution: tensors of several types, with strides, packed, and one operand that is absent.
TEST_F(ModelTreeTest, Containers) {
  options_.is_bin = true;
  std::vector<float> grid(200 * 1000);
  std::iota(grid.begin(), grid.end(), 0.f);
  TensorView columns = TensorView::row_major(DType::float32, {1000, 200}, grid.data());
  columns.strides = {1, 1000};
  const std::vector<std::uint16_t> narrow{0x3f80, 0x4000, 0x4040};
  const std::vector<std::uint8_t> packed{0x21, 0x43, 0x05};
  auto tree = open();
  EXPECT_TRUE(tree->writes_calls());
  const std::vector<SchemeWriter::Member> members{
      {address(Side::input, 0), columns},
      {address(Side::input, 2), TensorView::row_major(DType::bfloat16, {3}, narrow.data())},
      {address(Side::output, 0), TensorView::row_major(DType::int4, {5}, packed.data())},
      {address(Side::output, 1), TensorView::row_major(DType::float32, {1, 1, 1, 2}, grid.data())},
      {address(Side::output, 2), TensorView::row_major(DType::float32, {}, &grid[5])}};
  auto path = tree->write_call(members);
  ASSERT_TRUE(path) << path.error().message();
  EXPECT_EQ(*path, step_ / base_);
  EXPECT_EQ(fs::status(*path).permissions(), fs::perms(0400));
  const std::string file = text(*path);
  auto data = format::decode_dump_data(std::as_bytes(std::span(file)));
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_EQ(data->op_name, "Default/a.b:c/Add-op0");
  EXPECT_EQ(data->dump_time_us, kTime + 9);
  EXPECT_EQ(data->announced_bytes, data->payload_bytes);
  ASSERT_EQ(data->inputs.size(), 3u);
  EXPECT_EQ(data->inputs[1].data_type, 0);
  EXPECT_EQ(data->inputs[1].size_bytes, 0u);
  ASSERT_EQ(data->outputs.size(), 3u);
  EXPECT_EQ(format::dump_format_name(data->outputs[0].format), "ND");
  EXPECT_EQ(format::dump_format_name(data->outputs[1].format), "NCHW");
  const auto payload = [&](const format::DumpTensor& tensor) {
    const auto array = format::read_dump_array(tensor);
    return array ? file.substr(array->data.offset, array->data.bytes) : array.error().message();
  };
  std::vector<float> transposed(200 * 1000);
  for (std::size_t i = 0; i < transposed.size(); ++i) transposed[i] = grid[i / 200 + i % 200 * 1000];
  EXPECT_EQ(payload(data->inputs[0]),
            std::string(reinterpret_cast<const char*>(transposed.data()), transposed.size() * 4));
  EXPECT_EQ(payload(data->inputs[2]), std::string(reinterpret_cast<const char*>(narrow.data()), 6));
  EXPECT_EQ(payload(data->outputs[0]), "\x21\x43\x05");
  EXPECT_EQ(payload(data->outputs[1]), std::string(reinterpret_cast<const char*>(grid.data()), 8));
  EXPECT_EQ(payload(data->outputs[2]), std::string(reinterpret_cast<const char*>(&grid[5]), 4));
}

TEST_F(ModelTreeTest, ContainersThatCannotBe) {
  options_.is_bin = true;
  const float value = 1;
  auto tree = open();
  const auto write = [&](std::uint32_t index, DType dtype) {
    const SchemeWriter::Member member{address(Side::input, index), TensorView::row_major(dtype, {1}, &value)};
    return tree->write_call({&member, 1});
  };
  EXPECT_EQ(write(0, DType::undefined).error().code(), Code::unsupported);
  EXPECT_EQ(write(4'000'000'000, DType::float32).error().code(), Code::limit);
  EXPECT_FALSE(fs::exists(step_));
}

TEST_F(ModelTreeTest, LongNamesGoToTheMapping) {
  options_.is_bin = true;
  op_.name = std::string(300, 'n');
  const float value = 1;
  const SchemeWriter::Member member{address(), TensorView::row_major(DType::float32, {1}, &value)};
  auto path = open()->write_call({&member, 1});
  ASSERT_TRUE(path) << path.error().message();
  const std::string name = std::to_string((kTime + 9) % 2147483648);
  EXPECT_EQ(path->filename(), name);
  EXPECT_EQ(text(step_ / "mapping.csv"), name + ",aten__Add_Tensor." + op_.name + ".41.2.1733905446819799\n");
}

TEST_F(ModelTreeTest, OverflowRecords) {
  const std::string name = "Opdebug.Node_OpDebug.41.2.1733905446819799";
  ASSERT_TRUE(open()->write_overflow(address(Side::output, 1)));
  EXPECT_EQ(text(step_ / (name + ".output.0.json")),
            R"({"AI Core":{"block_idx":0,"kernel_code":"0x0","model_id":5,"para_base":"0x0",)"
            R"("pc_start":"0x0","status":32,"stream_id":2,"task_id":41,"task_type":0},)"
            R"("DHA Atomic Add":{"model_id":0,"para_base":"0x0","pc_start":"0x0","status":0,)"
            R"("stream_id":0,"task_id":0,"task_type":0},)"
            R"("L2 Atomic Add":{"model_id":0,"para_base":"0x0","pc_start":"0x0","status":0,)"
            R"("stream_id":0,"task_id":0,"task_type":0}})");
  options_.is_bin = true;
  ASSERT_TRUE(open()->write_overflow(address()));
  const std::string file = text(step_ / name);
  const auto bytes = std::as_bytes(std::span(file));
  auto data = format::decode_dump_data(bytes);
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_EQ(data->op_name, "Node_OpDebug");
  const auto array = format::read_dump_array(data->outputs.at(0));
  ASSERT_TRUE(array);
  EXPECT_EQ(array->shape, model::Shape{2048});
  auto record = format::decode_op_debug(bytes.subspan(array->data.offset, array->data.bytes));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->ai_core.task_id, 41u);
  EXPECT_EQ(record->ai_core.status, 32u);
}

TEST_F(ModelTreeTest, OverflowRecordsSayTheGraphThatAStepMovedTo) {
  auto tree = open();
  SlotAddress earlier = address();
  earlier.step = 6;
  ASSERT_TRUE(tree->write_overflow(earlier));
  ASSERT_TRUE(tree->write_overflow(address()));
  ASSERT_TRUE(tree->move_step(7, 5, 6));
  const std::string name = "Opdebug.Node_OpDebug.41.2.1733905446819799.output.0.json";
  const auto record = format::decode_op_debug_json(text(step_.parent_path().parent_path() / "6/7" / name));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->ai_core.model_id, 6u);
  EXPECT_FALSE(fs::exists(step_));
}

TEST_F(ModelTreeTest, WhatEachStepTellsCann) {
  const fs::path file = options_.root / "acl_dump_3.json";
  const std::string root = options_.root.string();
  std::vector<std::string> operators;
  const auto scene = [&](std::int64_t step, bool selected) {
    auto begun = open()->begin_step(step, selected, operators);
    EXPECT_TRUE(begun) << begun.error().message();
    EXPECT_EQ(fs::status(file).permissions(), fs::perms(0400));
    return text(file);
  };
  EXPECT_EQ(
      scene(4, true),
      R"({"dump":{"dump_list":[],"dump_mode":"all","dump_op_switch":"on","dump_path":")" + root + "/4\"}}");
  EXPECT_EQ(scene(5, false),
            R"({"dump":{"dump_list":[],"dump_mode":"all","dump_op_switch":"on","dump_path":")" + root +
                R"(","dump_step":"2147483647"}})");
  options_.dump_mode = "input";
  operators = {"Default/Add-op0", "b"};
  EXPECT_EQ(scene(6, true), R"({"dump":{"dump_list":[{"layer":["Default/Add-op0","b"]}],"dump_mode":"input",)"
                            R"("dump_op_switch":"on","dump_path":")" +
                                root + "/6\"}}");
  options_.scene = ModelTreeOptions::Scene::overflow;
  EXPECT_EQ(scene(7, true), R"({"dump":{"dump_debug":"on","dump_path":")" + root + "/7\"}}");
  options_.scene = ModelTreeOptions::Scene::exception;
  EXPECT_EQ(scene(8, true), R"({"dump":{"dump_scene":"lite_exception"}})");
}

TEST_F(ModelTreeTest, NeverWritesThroughSymbolicLinks) {
  options_.is_bin = true;
  const float value = 1;
  const SchemeWriter::Member member{address(), TensorView::row_major(DType::float32, {1}, &value)};
  const fs::path outside = directory_.path() / "outside";
  fs::create_directories(outside);
  ASSERT_TRUE(write_file_atomic(outside / "victim", "precious", 0600));
  auto tree = open();
  fs::create_directory_symlink(outside, options_.root / "7");
  EXPECT_EQ(tree->write_call({&member, 1}).error().code(), Code::io);
  fs::remove(options_.root / "7");
  fs::create_symlink(outside / "victim", options_.root / "acl_dump_3.json");
  ASSERT_TRUE(tree->begin_step(7, true, {}));
  EXPECT_FALSE(fs::is_symlink(options_.root / "acl_dump_3.json"));
  fs::create_directories(step_);
  fs::create_symlink(outside / "victim", step_ / base_);
  ASSERT_TRUE(tree->write_call({&member, 1}));
  EXPECT_EQ(text(outside / "victim"), "precious");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside), fs::directory_iterator()), 1);
}

TEST_F(ModelTreeTest, StepsMoveBetweenGraphsAndARemovedTreeEndsIt) {
  const float value = 1;
  const auto view = TensorView::row_major(DType::float32, {1}, &value);
  auto tree = open();
  ASSERT_TRUE(tree->write_tensor(address(), view));
  ASSERT_TRUE(tree->write_statistics(address(), {}));
  ASSERT_TRUE(tree->move_step(7, 5, 6));
  const fs::path moved = step_.parent_path().parent_path() / "6/7";
  EXPECT_TRUE(fs::exists(moved / (base_ + ".output.0.ND.float32.npy")));
  EXPECT_TRUE(fs::exists(moved / "statistic.csv"));
  EXPECT_FALSE(fs::exists(step_.parent_path()));
  fs::remove_all(options_.root);
  EXPECT_FALSE(tree->flush());
  EXPECT_EQ(tree->write_tensor(address(), view).error().code(), Code::io);
  EXPECT_FALSE(fs::exists(options_.root));
}

TEST_F(ModelTreeTest, OptionsThatCannotBe) {
  for (const char* name : {"", "a/b", ".", ".."}) {
    options_.net_name = name;
    EXPECT_EQ(open_model_tree(options_).error().code(), Code::usage);
  }
  options_.net_name = "Net";
  options_.statistic_columns = {"Median"};
  EXPECT_EQ(open_model_tree(options_).error().code(), Code::usage);
}

}  // namespace
}  // namespace opdump::dump
