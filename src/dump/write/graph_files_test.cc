#include "dump/write/graph_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/file/file.h"

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

TEST_F(GraphFiles, AreReadWithTheirOrders) {
  ASSERT_TRUE(write_graph(root_, small_graph("demo.py")));
  model::Graph other = small_graph("demo.py");
  other.id = 10;
  ASSERT_TRUE(write_graph(root_, other));
  for (const std::int64_t step : {0, 4}) ASSERT_TRUE(append_global_order(root_, 2, step));
  const auto read = read_graphs(root_);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->problems.empty());
  ASSERT_EQ(read->files.size(), 2u);
  EXPECT_EQ(read->files[0].id, 2);
  EXPECT_EQ(read->files[1].id, 10);
  EXPECT_EQ(read->files[0].path, root_ / "graphs/ms_output_trace_code_graph_2.ir");
  EXPECT_THAT(read->files[0].order, testing::ElementsAre("Default/fc-Dense/MatMul-op0"));
  EXPECT_THAT(read->files[0].history, testing::ElementsAre(0, 4));
  ASSERT_EQ(read->files[0].graphs.size(), 1u);
  EXPECT_EQ(read->files[0].graphs[0].nodes[0].arguments, small_graph("").nodes[0].arguments);
}

TEST_F(GraphFiles, ThePbStandsInForAMissingOrDamagedIr) {
  ASSERT_TRUE(write_graph(root_, small_graph("demo.py")));
  const fs::path ir = root_ / "graphs/ms_output_trace_code_graph_2.ir";
  fs::remove(ir);
  auto read = read_graphs(root_);
  ASSERT_TRUE(read && read->files.size() == 1);
  EXPECT_EQ(read->files[0].path, root_ / "graphs/ms_output_trace_code_graph_2.pb");
  EXPECT_TRUE(read->problems.empty());
  std::ofstream(ir) << "damaged";
  read = read_graphs(root_);
  ASSERT_TRUE(read && read->files.size() == 1);
  EXPECT_EQ(read->files[0].graphs[0].nodes[0].op.name, "Default/fc-Dense/MatMul-op0");
  ASSERT_EQ(read->problems.size(), 1u);
  EXPECT_EQ(read->problems[0].path, ir);
}

TEST_F(GraphFiles, DamageIsAProblemNotAnEnd) {
  ASSERT_TRUE(read_graphs(root_) && read_graphs(root_)->files.empty());
  ASSERT_TRUE(write_graph(root_, small_graph("demo.py")));
  for (const char* name : {"graphs/ms_output_trace_code_graph_7.pb", "graphs/ms_output_trace_code_graph_x.ir",
                           "execution_order/ms_global_execution_order_graph_2.csv"})
    std::ofstream(root_ / name) << "damaged";
  const fs::path order = root_ / "execution_order/ms_execution_order_graph_2.csv";
  fs::remove(order);
  std::ofstream(order) << "no header\n";
  const auto read = read_graphs(root_);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->files.size(), 1u);
  EXPECT_EQ(read->problems.size(), 3u);  // 7.pb, both orders; "x" is no graph
}

TEST_F(GraphFiles, AFileByItselfIsKnownByItsContent) {
  ASSERT_TRUE(write_graph(root_, small_graph("demo.py")));
  for (const char* name :
       {"graphs/ms_output_trace_code_graph_2.ir", "graphs/ms_output_trace_code_graph_2.pb"}) {
    fs::copy_file(root_ / name, root_ / "renamed", fs::copy_options::overwrite_existing);
    const auto graphs = read_graph_file(root_ / "renamed");
    ASSERT_TRUE(graphs && graphs->size() == 1) << name;
    EXPECT_EQ((*graphs)[0].nodes.size(), 1u);
    fs::remove(root_ / "renamed");
  }
  EXPECT_EQ(read_graph_file(root_ / "none").error().code(), Code::not_found);
}

}  // namespace
}  // namespace opdump::dump
