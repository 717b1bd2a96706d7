#include "format/graphs/ge/ge_readable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "format/graphs/ge/ge_build.h"
#include "format/graphs/sample_graph.h"

namespace opdump::format {
namespace {

using model::Argument;
using testing::HasSubstr;

std::string encode(const model::Graph& graph,
                   const std::function<std::string(std::string_view)>& read_data = {}) {
  GeBuildOptions options;
  options.name = "net";
  options.read_data = read_data;
  std::string text;
  EXPECT_TRUE(encode_ge_graph(graph, options, [&](const GeTexts& texts) -> Result<> {
    text += texts.readable;
    return ok();
  }));
  return text;
}

TEST(GeReadable, Golden) {
  EXPECT_EQ(encode(sample_graph()), R"(graph("net"):
  %x : [#users=1] = Node[type=Data] (attrs = {index: 0})
  %conv1.weight : [#users=1] = Node[type=Const] ()
  %data-0 : [#users=1] = Node[type=Const] ()
  %Default/conv1-Conv2d/convolution-op0 : [#users=1] = Node[type=convolution] (inputs = (input=%x, weight=%conv1.weight), attrs = {groups: 1, stride: {1, 1}, transposed: false})
  %Default/pool-MaxPool2d/max_pool2d_with_indices-op0 : [#users=2] = Node[type=max_pool2d_with_indices] (inputs = (self=%Default/conv1-Conv2d/convolution-op0), attrs = {kernel_size: {2, 2}})
  %ret : [#users=2] = get_element[node=%Default/pool-MaxPool2d/max_pool2d_with_indices-op0](0)
  %ret_1 : [#users=1] = get_element[node=%Default/pool-MaxPool2d/max_pool2d_with_indices-op0](1)
  %Default/head-Head/cat-op0 : [#users=1] = Node[type=cat] (inputs = (tensors_0=%ret, tensors_1=%ret), attrs = {dim: -1})
  %Default/head-Head/add-op0 : [#users=1] = Node[type=add] (inputs = (self=%Default/head-Head/cat-op0, other=%data-0), attrs = {alpha: 0.500000})
  %Default/head-Head/my::gather-op0 : [#users=2] = Node[type=my::gather] (inputs = (self=%Default/head-Head/add-op0, index=%ret_1), attrs = {mode: "a "b""})
  %ret_2 : [#users=0] = get_element[node=%Default/head-Head/my::gather-op0](0)
  %ret_3 : [#users=1] = get_element[node=%Default/head-Head/my::gather-op0](1)

  return (%ret_3)
)");
}

TEST(GeReadable, Attributes) {
  model::Graph graph = sample_graph();
  graph.nodes[0].arguments = {{"f", Argument::List{{"", 0.5}, {"", 1e-7}}},
                              {"empty", Argument::List{}},
                              {"none", std::string()},
                              {"words", Argument::List{{"", std::string("a")}, {"", std::string("b\n")}}},
                              {"flags", Argument::List{{"", true}, {"", false}}}};
  EXPECT_THAT(encode(graph),
              HasSubstr("Node[type=convolution] (inputs = (_input_0=%x, _input_1=%conv1.weight), "
                        "attrs = {f: {0.500000, 0.000000}, flags: {true, false}, words: "
                        "{\"a\", \"b \"}})\n"));
}

TEST(GeReadable, TensorsAreShortened) {
  std::vector<float> values(150, 0.5);
  values.front() = -1.5;
  const auto read = [&](std::string_view name) {
    if (name != "conv1.weight") return std::string();
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  EXPECT_THAT(encode(sample_graph(), read),
              HasSubstr("%conv1.weight : [#users=1] = Node[type=Const] (attrs = {value: [-1.500000 0.500000 "
                        "0.500000 ... 0.500000 0.500000 0.500000]})\n"));
  model::Graph graph = sample_graph();
  graph.parameters[1].type = sample_type({75}, model::DType::complex32);
  EXPECT_THAT(encode(graph, read), HasSubstr("{value: <not_supported>}"));
  graph.parameters[1].type.dtype = model::DType::boolean;
  values.assign({0});
  EXPECT_THAT(encode(graph, read), HasSubstr("{value: [false false false false]}"));
}

TEST(GeReadable, SeveralOutputsAndBodies) {
  model::Graph graph = sample_graph();
  graph.outputs = {from_node(0), from_node(1, 1)};
  model::Body body{"then_branch", {}};
  body.graph.nodes.push_back(sample_node("neg", "then", "0", 0));
  body.graph.nodes[0].outputs = {{0, {}}};
  body.graph.outputs = {from_node(0)};
  graph.nodes[3].bodies = {body};
  const std::string text = encode(graph);
  EXPECT_THAT(text,
              HasSubstr("attrs = {then_branch: %Default/head-Head/add-op0_then_branch, alpha: 0.500000})"));
  EXPECT_TRUE(text.ends_with(R"(
  return (output_0=%Default/conv1-Conv2d/convolution-op0, output_1=%ret_1)

graph("Default/head-Head/add-op0_then_branch"):
  %Default/then/neg-op0 : [#users=1] = Node[type=neg] ()

  return (%Default/then/neg-op0)
)")) << text;
}

}  // namespace
}  // namespace opdump::format
