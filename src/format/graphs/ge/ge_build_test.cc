#include "format/graphs/ge/ge_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "format/graphs/ge/ge_graph.h"
#include "format/graphs/sample_graph.h"

namespace opdump::format {
namespace {

using model::Argument;
using model::DType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

GeTexts encode(const model::Graph& graph, const GeBuildOptions& options) {
  GeTexts texts;
  EXPECT_TRUE(encode_ge_graph(graph, options, [&](const GeTexts& part) -> Result<> {
    texts.proto += part.proto;
    texts.onnx += part.onnx;
    texts.readable += part.readable;
    return ok();
  }));
  return texts;
}

ProtoMessage build(const model::Graph& graph, GeBuildOptions options = {}) {
  options.name = "net";
  auto model = decode_ge_graph(encode(graph, options).proto);
  EXPECT_TRUE(model);
  return model ? std::move(*model) : ProtoMessage();
}

std::string encode_onnx(bool only_relations) {
  GeBuildOptions options;
  options.name = "net";
  options.only_relations = only_relations;
  return encode(sample_graph(), options).onnx;
}

// The fields of the operator `name`.
ProtoMessage op_of(const ProtoMessage& model, std::string_view name) {
  for (const ProtoField& field : model[0].fields)
    if (field.name == "op" && field.fields[0].value == name) return field.fields;
  ADD_FAILURE() << name;
  return {};
}

std::string value_of(const ProtoMessage& op, std::string_view key) {
  const ProtoMessage* found = find_ge_attribute(op, key);
  return found ? print_proto_text(*found) : "";
}

constexpr std::string_view kPool = "Default/pool-MaxPool2d/max_pool2d_with_indices-op0";

TEST(GeBuild, IsAGraphOfTheEngine) {
  const ProtoMessage model = build(sample_graph());
  const auto graphs = list_ge_graphs(model);
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].name, "net");
  std::vector<std::string> types;
  for (const GeOperator& op : graphs[0].operators) types.emplace_back(op.type);
  EXPECT_THAT(types, ElementsAre("Data", "Const", "Const", "convolution", "max_pool2d_with_indices", "cat",
                                 "add", "my::gather", "NetOutput"));
  EXPECT_THAT(graphs[0].operators[3].inputs, ElementsAre("x:0", "conv1.weight:0"));
  EXPECT_THAT(graphs[0].operators[5].inputs,
              ElementsAre(std::string(kPool) + ":0", std::string(kPool) + ":0"));
  EXPECT_THAT(graphs[0].operators[7].inputs,
              ElementsAre("Default/head-Head/add-op0:0", "", std::string(kPool) + ":1", ""))
      << "the second is absent, nobody knows where the fourth comes from";
  EXPECT_THAT(graphs[0].operators[8].inputs, ElementsAre("Default/head-Head/my::gather-op0:1"));
}

TEST(GeBuild, GoldenOperator) {
  const std::string text = print_proto_text(op_of(build(sample_graph()), kPool));
  EXPECT_THAT(text, HasSubstr(R"(type: "max_pool2d_with_indices"
input: "Default/conv1-Conv2d/convolution-op0:0"
attr {
  key: "_opdump_phase"
  value {
    s: "forward"
  }
}
attr {
  key: "_opdump_source"
  value {
    s: "train.py:13"
  }
}
attr {
  key: "kernel_size"
  value {
    list {
      i: 2
      i: 2
      val_type: VT_LIST_INT
    }
  }
}
has_out_attr: true
id: 4
src_name: "Default/conv1-Conv2d/convolution-op0"
src_index: 0
dst_name: "Default/head-Head/cat-op0"
dst_name: "Default/head-Head/cat-op0"
dst_name: "Default/head-Head/my::gather-op0"
dst_index: 0
dst_index: 1
dst_index: 2
input_desc {
  dtype: DT_FLOAT
  shape {
    dim: 2
    dim: 6
    dim: 4
    dim: 4
  }
  layout: "ND"
)"));
  EXPECT_THAT(text, HasSubstr("  dtype: DT_INT64\n"));
}

TEST(GeBuild, BeforeItIsBuiltAGraphHasNoIdsAndNoTypes) {
  GeBuildOptions options;
  options.stage = GeStage::pre_run_begin;
  const ProtoMessage model = build(sample_graph(), options);
  const std::string pool = print_proto_text(op_of(model, kPool));
  EXPECT_THAT(pool, Not(HasSubstr("id: ")));
  EXPECT_THAT(pool, Not(HasSubstr("dtype")));
  EXPECT_THAT(pool, HasSubstr("output_desc {\n  layout: \"ND\"\n}\n"));
  EXPECT_THAT(print_proto_text(op_of(model, "x")), HasSubstr("dtype: DT_FLOAT"));
}

TEST(GeBuild, WeightsOfATrainingGraphAreVariables) {
  model::Graph graph = sample_graph();
  EXPECT_FALSE(is_training(graph));
  graph.nodes[4].op.phase = model::Phase::backward;
  EXPECT_TRUE(is_training(graph));
  const ProtoMessage weight = op_of(build(graph), "conv1.weight");
  EXPECT_EQ(weight[1].value, "Variable");
  EXPECT_EQ(value_of(weight, "value"), "");
  EXPECT_EQ(op_of(build(graph), "data-0")[1].value, "Const");
}

TEST(GeBuild, DataOfWeights) {
  GeBuildOptions options;
  options.read_data = [](std::string_view name) {
    return name == "data-0" ? std::string("\1\0\2\3", 4) : std::string();
  };
  const ProtoMessage model = build(sample_graph(), options);
  EXPECT_THAT(value_of(op_of(model, "data-0"), "value"), HasSubstr("data: \"\\001\\000\\002\\003\""));
  EXPECT_THAT(value_of(op_of(model, "conv1.weight"), "value"), Not(HasSubstr("data:")));
}

TEST(GeBuild, AttributesOfEachKind) {
  model::Graph graph = sample_graph();
  model::Node& node = graph.nodes[1];
  const auto floats = Argument::List{{"", 0.1}, {"", 1e-05}, {"", 0.3333333333}};
  node.arguments = {{"f", floats},
                    {"s", Argument::List{{"", std::string("a")}}},
                    {"b", Argument::List{{"", true}}},
                    {"empty", Argument::List{}},
                    {"mixed", Argument::List{{"", true}, {"", std::int64_t{1}}}},
                    {"nested", Argument::List{{"", Argument::List{}}}},
                    {"inf", std::numeric_limits<double>::infinity()},
                    {"none", Argument::None{}}};
  const ProtoMessage op = op_of(build(graph), kPool);
  const auto value = [&](std::string_view key) { return value_of(op, key); };
  EXPECT_EQ(value("f"), "list {\n  f: 0.1\n  f: 1e-05\n  f: 0.333333343\n  val_type: VT_LIST_FLOAT\n}\n");
  EXPECT_EQ(value("s"), "list {\n  s: \"a\"\n  val_type: VT_LIST_STRING\n}\n");
  EXPECT_EQ(value("b"), "list {\n  b: true\n  val_type: VT_LIST_BOOL\n}\n");
  EXPECT_EQ(value("empty"), "list {\n  val_type: VT_LIST_INT\n}\n");
  EXPECT_EQ(value("inf"), "f: inf\n");
  for (const char* none : {"mixed", "nested", "none"}) EXPECT_EQ(value(none), "") << none;
}

TEST(GeBuild, OriginalNamesAreToldAndNamesAreUnique) {
  model::Graph graph = sample_graph();
  graph.nodes[2].op.name = graph.nodes[1].op.name;
  graph.nodes[1].op.original_names = {"a", "b"};
  graph.nodes[2].op.original_names.emplace();
  const ProtoMessage model = build(graph);
  EXPECT_EQ(value_of(op_of(model, kPool), "_datadump_original_op_names"),
            "list {\n  s: \"a\"\n  s: \"b\"\n  val_type: VT_LIST_STRING\n}\n");
  const ProtoMessage second = op_of(model, std::string(kPool) + "_2");
  EXPECT_EQ(value_of(second, "_datadump_original_op_names"), "list {\n  val_type: VT_LIST_STRING\n}\n");
}

TEST(GeBuild, WhatTheGraphGivesGoesToTheNetOutput) {
  model::Graph graph = sample_graph();
  graph.outputs = {from_node(1, 1), from_node(0),
                   from_parameter(0)};  // the second is read by an operator too
  const ProtoMessage model = build(graph);
  const auto output = list_ge_graphs(model)[0].operators.back();
  EXPECT_EQ(output.type, "NetOutput");
  EXPECT_THAT(output.inputs,
              ElementsAre(std::string(kPool) + ":1", "Default/conv1-Conv2d/convolution-op0:0", "x:0"));
}

TEST(GeBuild, DimensionsThatDiffer) {
  model::Graph graph = sample_graph();
  graph.nodes[0].outputs[0].type.shape = {-1, 6, 4, 4};
  EXPECT_THAT(print_proto_text(op_of(build(graph), "Default/conv1-Conv2d/convolution-op0")),
              HasSubstr("output_desc {\n  dtype: DT_FLOAT\n  shape {\n    dim: -1\n    dim: 6\n"));
}

// An If with two branches, one of them with a Loop.
model::Graph graph_with_bodies() {
  model::Graph graph = sample_graph();
  model::Body then{"then_branch", {}}, loop{"body", {}};
  loop.graph.parameters = {{"v", {}, model::GraphParameter::Role::input}};
  loop.graph.nodes.push_back(sample_node("neg", "loop", "0", 0));
  loop.graph.nodes[0].inputs = {{0, {}, from_parameter(0)}};
  loop.graph.nodes[0].outputs = {{0, {}}};
  loop.graph.outputs = {from_node(0)};
  then.graph.nodes.push_back(sample_node("Loop", "then", "0", 0));
  then.graph.nodes[0].outputs = {{0, {}}};
  then.graph.nodes[0].bodies = {loop};
  then.graph.outputs = {from_node(0)};
  model::Body other = then;
  other.name = "else_branch";
  graph.nodes[0].bodies = {then, other};
  return graph;
}

TEST(GeBuild, BodiesAreGraphsBehindTheGraph) {
  const auto model = build(graph_with_bodies());
  const auto graphs = list_ge_graphs(model);
  std::vector<std::string> names;
  for (const GeGraph& graph : graphs) names.emplace_back(graph.name);
  const std::string conv = "Default/conv1-Conv2d/convolution-op0", loop = "Default/then/Loop-op0_body";
  EXPECT_THAT(names, ElementsAre("net", conv + "_then_branch", loop, conv + "_else_branch", loop + "_"));
  EXPECT_THAT(print_proto_text(op_of(model, conv)),
              HasSubstr("subgraph_name: \"" + conv + "_then_branch\"\nsubgraph_name: \"" + conv +
                        "_else_branch\"\n"));
  std::vector<std::string> types;
  for (const GeOperator& op : graphs[2].operators) types.emplace_back(op.type);
  EXPECT_THAT(types, ElementsAre("Data", "neg", "NetOutput"));
  EXPECT_THAT(graphs[2].operators[2].inputs, ElementsAre("Default/loop/neg-op0:0"));
}

TEST(GeOnnx, BodiesAreNodesWithAGraph) {
  GeBuildOptions options;
  options.name = "net";
  options.only_relations = true;
  const std::string text = encode(graph_with_bodies(), options).onnx;
  ASSERT_TRUE(parse_proto_text(text));
  EXPECT_THAT(text, HasSubstr(R"(  node {
    name: "Default/then/Loop-op0_body"
    op_type: "subgraph"
    attribute {
      name: "graph"
      g {
        node {
          input: ""
          output: "v:0"
          name: "v"
          op_type: "ge:Data"
        }
)"));
  EXPECT_TRUE(text.ends_with("      }\n      type: GRAPH\n    }\n  }\n  name: \"net\"\n}\n"));
}

TEST(GeOnnx, GoldenNode) {
  const std::string text = encode_onnx(false);
  EXPECT_TRUE(
      text.starts_with("ir_version: 6\nproducer_name: \"opdump\"\ngraph {\n  node {\n    input: \"\"\n"
                       "    output: \"x:0\"\n    name: \"x\"\n    op_type: \"ge:Data\"\n    attribute {\n"));
  EXPECT_TRUE(text.ends_with("  name: \"net\"\n}\n"));
  EXPECT_THAT(text, HasSubstr("    attribute {\n      name: \"kernel_size\"\n      ints: 2\n      ints: 2\n"
                              "      type: INTS\n    }\n"));
  EXPECT_THAT(text, HasSubstr("      name: \"output_desc_shape:1\"\n      ints: 2\n"));
  EXPECT_THAT(text, HasSubstr("      name: \"transposed\"\n      type: INT\n"));
  EXPECT_THAT(text,
              HasSubstr("      t {\n        dims: 6\n        dims: 1\n        dims: 5\n        dims: 5\n"
                        "        data_type: 1\n      }\n      type: TENSOR\n"));
}

TEST(GeOnnx, OnlyRelations) {
  const std::string text = encode_onnx(true);
  EXPECT_THAT(text, Not(HasSubstr("attribute")));
  EXPECT_THAT(
      text,
      HasSubstr("  node {\n    input: \"Default/head-Head/my::gather-op0:1\"\n    name: \"Node_Output\"\n"
                "    op_type: \"ge:NetOutput\"\n  }\n"));
}

}  // namespace
}  // namespace opdump::format
