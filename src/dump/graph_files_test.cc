#include "dump/graph_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/file.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using model::Argument;
using model::DType;
using model::GraphParameter;
using model::Source;
using model::TensorType;

class GraphFiles : public testing::Test {
 protected:
  fs::path root_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name() / "rank_0";
  void SetUp() override { fs::remove_all(root_.parent_path()); }
  void TearDown() override { fs::remove_all(root_.parent_path()); }

  std::string text_of(const std::string& name) const {
    auto text = read_file(root_ / name, 1 << 20);
    return text ? *text : text.error().message();
  }
  unsigned mode_of(const std::string& name) const {
    struct stat info {};
    return ::stat((root_ / name).c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
};

const TensorType kMatrix{DType::float32, {2, 3}};

model::Graph small_graph(const std::string& source_file) {
  model::Graph graph;
  graph.id = 2;
  graph.parameters = {{"x", kMatrix, GraphParameter::Role::input},
                      {"fc.weight", {DType::float32, {3, 3}}, GraphParameter::Role::weight}};
  model::Node node;
  node.op.type = "MatMul";
  node.op.name = "Default/fc-Dense/MatMul-op0";
  node.op.source_file = source_file;
  node.op.source_line = 2;
  node.inputs = {{0, kMatrix, {Source::Kind::parameter, 0, 0}},
                 {1, {DType::float32, {3, 3}}, {Source::Kind::parameter, 1, 0}}};
  node.arguments = {{"x", Argument::Tensor{0}}, {"w", Argument::Tensor{1}}, {"transpose", false}};
  node.outputs = {{0, kMatrix}};
  graph.nodes.push_back(node);
  return graph;
}

TEST_F(GraphFiles, WritesTheFilesOfAGraphInPlaceOfOlderOnes) {
  fs::create_directories(root_);
  const std::string source = (root_ / "demo.py").string();
  std::ofstream(source) << "def construct(self, x):\n    return self.matmul(x, self.w)  \n";
  ASSERT_TRUE(write_graph(root_, small_graph(source)));
  ASSERT_TRUE(write_graph(root_, small_graph(source)));
  EXPECT_EQ(text_of("execution_order/ms_execution_order_graph_2.csv"),
            "NodeExecutionOrder-FullNameWithScope\nDefault/fc-Dense/MatMul-op0\n");
  EXPECT_THAT(
      text_of("graphs/ms_output_trace_code_graph_2.ir"),
      testing::HasSubstr("      # In file " + source + ":2, 4~33/    return self.matmul(x, self.w)/\n"));
  EXPECT_EQ(mode_of("graphs"), 0700u);
  EXPECT_EQ(mode_of("execution_order"), 0700u);
  EXPECT_EQ(mode_of("graphs/ms_output_trace_code_graph_2.ir"), 0400u);
  EXPECT_EQ(mode_of("graphs/ms_output_trace_code_graph_2.pb"), 0400u);
  EXPECT_EQ(mode_of("execution_order/ms_execution_order_graph_2.csv"), 0400u);
}

TEST_F(GraphFiles, TheHistoryGrows) {
  for (const std::int64_t step : {0, 1, 5}) ASSERT_TRUE(append_global_order(root_, 3, step));
  EXPECT_EQ(text_of("execution_order/ms_global_execution_order_graph_3.csv"), "0\n1\n5\n");
  EXPECT_EQ(mode_of("execution_order/ms_global_execution_order_graph_3.csv"), 0600u);
}

TEST_F(GraphFiles, ASourceThatIsNoFileIsNotRead) {
  ASSERT_TRUE(write_graph(root_, small_graph("/dev/zero")));
  EXPECT_THAT(text_of("graphs/ms_output_trace_code_graph_2.ir"),
              testing::HasSubstr("      # In file /dev/zero:2, 0~0//\n"));
}

TEST_F(GraphFiles, ALinkInTheWayIsReplacedAndItsTargetStays) {
  fs::create_directories(root_ / "graphs");
  const fs::path precious = root_.parent_path() / "precious";
  std::ofstream(precious) << "precious";
  fs::create_symlink(precious, root_ / "graphs/ms_output_trace_code_graph_2.ir");
  ASSERT_TRUE(write_graph(root_, small_graph("")));
  EXPECT_EQ(*read_file(precious, 100), "precious");
}

}  // namespace
}  // namespace opdump::dump
