#include "format/graphs/execution_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/graphs/graph_ir.h"
#include "format/graphs/sample_graph.h"

namespace opdump::format {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ExecutionOrder, IsAHeaderAndFullNames) {
  const std::string text = encode_execution_order(sample_graph());
  EXPECT_EQ(text,
            "NodeExecutionOrder-FullNameWithScope\n"
            "Default/conv1-Conv2d/convolution-op0\n"
            "Default/pool-MaxPool2d/max_pool2d_with_indices-op0\n"
            "Default/head-Head/cat-op0\n"
            "Default/head-Head/add-op0\n"
            "Default/head-Head/my::gather-op0\n");
  const auto names = decode_execution_order(text);
  ASSERT_TRUE(names);
  EXPECT_EQ(names->size(), 5u);
  EXPECT_EQ(names->back(), "Default/head-Head/my::gather-op0");
}

TEST(ExecutionOrder, EveryNameIsInTheIr) {
  model::Graph graph = sample_graph();
  graph.nodes[1].op.name = "Default/odd\r\n name-op0";
  const std::string ir = encode_graph_ir(graph, sample_line);
  const auto names = decode_execution_order(encode_execution_order(graph));
  ASSERT_TRUE(names);
  ASSERT_EQ(names->size(), graph.nodes.size());
  for (const std::string& name : *names)
    EXPECT_THAT(ir, HasSubstr("# Fullname with scope: (" + name + ")\n"));
}

TEST(ExecutionOrder, OfWindowsLinesAndWithoutItsHeader) {
  const auto names =
      decode_execution_order("NodeExecutionOrder-FullNameWithScope\r\nDefault/a\r\n\r\nDefault/b");
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("Default/a", "Default/b"));
  EXPECT_EQ(decode_execution_order("Default/a\n").error().code(), Code::corrupt);
  EXPECT_EQ(decode_execution_order("").error().code(), Code::corrupt);
}

TEST(GlobalOrder, CountsWhatIsNoStep) {
  const GlobalOrder order = decode_global_order("0\n1\r\n\nx\n99999999999999999999\n7");
  EXPECT_THAT(order.steps, ElementsAre(0, 1, 7));
  EXPECT_EQ(order.damaged_lines, 3u);
}

}  // namespace
}  // namespace opdump::format
