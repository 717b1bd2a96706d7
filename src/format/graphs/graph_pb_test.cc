#include "format/graphs/graph_pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file/file.h"
#include "format/graphs/graph_proto.h"
#include "format/graphs/sample_graph.h"

namespace opdump::format {
namespace {

namespace fs = std::filesystem;
using model::Argument;
using model::DType;
using model::GraphParameter;
using model::Node;
using model::Shape;
using model::Source;

const fs::path kReal = fs::path(OPDUMP_SOURCE_DIR) / "../shared/testdata/mindspore";
const fs::path kLenet = kReal / "mindinsight-r2.0/tests/utils/resource/graph_pb/lenet.pb";
const fs::path kAlexnet =
    kReal / "toolkits/tests/st/troubleshooter/widget/test_files/ms_output_after_hwopt_0.pb";

std::string read_or_empty(const fs::path& path) {
  return read_file(path, 1 << 20) ? *read_file(path, 1 << 20) : "";
}

model::Graph decode(std::string_view bytes) {
  auto graph = decode_graph_pb(bytes);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message());
  return graph ? std::move(*graph) : model::Graph();
}

const Node& find_node(const model::Graph& graph, std::string_view end_of_name) {
  for (const Node& node : graph.nodes)
    if (node.op.name.ends_with(end_of_name)) return node;
  ADD_FAILURE() << end_of_name;
  return graph.nodes[0];
}

TEST(GraphProto, RealFilesAreWrittenAgainToTheByte) {
  const std::string lenet = read_or_empty(kLenet), alexnet = read_or_empty(kAlexnet);
  if (lenet.empty() || alexnet.empty()) GTEST_SKIP() << "the reference data is not here";
  const auto graph = proto::decode_graph(lenet);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->node.size(), 104u);
  EXPECT_TRUE(proto::encode(*graph) == lenet);
  const auto model = proto::decode_model(alexnet);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->graph->node.size(), 211u);
  EXPECT_TRUE(proto::encode(*model) == alexnet);
}

TEST(GraphProto, KeepsWhatItDoesNotKnowAndWhatIsEmpty) {
  // ir_version 0, an empty graph; field 77 (varint) and domain with a wire type that is not its own.
  const std::string bytes("\x08\x00\x22\x00\xe8\x04\x01\x10\x05", 9);
  const auto model = proto::decode_model(bytes);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->ir_version, 0);
  EXPECT_FALSE(model->domain);
  ASSERT_TRUE(model->graph);
  EXPECT_EQ(proto::encode(*model), bytes);
}

TEST(GraphProto, OfHostileBytesIsAnError) {
  EXPECT_EQ(proto::decode_model("\x22\x7f").error().code(), Code::corrupt);         // longer than the file
  EXPECT_EQ(proto::decode_model("\x0b").error().code(), Code::corrupt);             // a group
  EXPECT_EQ(proto::decode_model(std::string(1, 0)).error().code(), Code::corrupt);  // tag 0
  EXPECT_EQ(proto::decode_model(std::string(20, '\xff')).error().code(), Code::corrupt);
}

// `count` messages of field 18 (values) of a Value, one in the other.
std::string nested(int count) {
  proto::GraphProto graph;
  proto::ValueProto* value = &graph.node.emplace_back().attribute.emplace_back().value.emplace();
  for (int i = 0; i < count; ++i) value = &value->values.emplace_back();
  return proto::encode(graph);
}

TEST(GraphProto, IsBoundedInDepthAndMemory) {
  EXPECT_TRUE(proto::decode_graph(nested(90)));
  EXPECT_EQ(proto::decode_graph(nested(120)).error().code(), Code::limit);
  proto::GraphProto graph;
  graph.node.resize(1 << 20);  // two bytes each
  EXPECT_EQ(proto::decode_graph(proto::encode(graph)).error().code(), Code::limit);
}

TEST(GraphPb, ReadsWhatItWrites) {
  const model::Graph written = sample_graph(), read = decode(encode_graph_pb(written, sample_line));
  EXPECT_EQ(read.id, 3);
  EXPECT_EQ(read.name, "kernel_graph3");
  ASSERT_EQ(read.parameters.size(), 3u);
  EXPECT_EQ(read.parameters[0], written.parameters[0]);
  EXPECT_EQ(read.parameters[1].name, "conv1.weight");
  EXPECT_EQ(read.parameters[2], written.parameters[2]);
  ASSERT_EQ(read.nodes.size(), written.nodes.size());
  for (std::size_t i = 0; i < read.nodes.size(); ++i) {
    EXPECT_EQ(read.nodes[i].op.type, written.nodes[i].op.type);
    EXPECT_EQ(read.nodes[i].op.name, written.nodes[i].op.name);
    EXPECT_EQ(read.nodes[i].op.source_file, written.nodes[i].op.source_file);
    EXPECT_EQ(read.nodes[i].op.source_line, written.nodes[i].op.source_line);
    EXPECT_EQ(read.nodes[i].inputs, written.nodes[i].inputs) << written.nodes[i].op.name;
    EXPECT_EQ(read.nodes[i].outputs, written.nodes[i].outputs);
  }
  const std::vector<Argument> no_tensors{{"bias", Argument::None{}},
                                         numbers("stride", 1, 1),
                                         {"transposed", false},
                                         {"groups", std::int64_t{1}}};
  EXPECT_EQ(read.nodes[0].arguments, no_tensors);
  EXPECT_EQ(read.nodes[3].arguments, std::vector<Argument>({{"alpha", 0.5}}));
}

TEST(GraphPb, MessagesAreThoseOfTheOriginal) {
  const auto model = proto::decode_model(encode_graph_pb(sample_graph(), sample_line));
  ASSERT_TRUE(model && model->graph);
  const proto::GraphProto& graph = *model->graph;
  EXPECT_EQ(model->ir_version, 1);
  EXPECT_EQ(graph.root_name, "3");
  ASSERT_EQ(graph.node.size(), 7u);  // with two TupleGetItem
  EXPECT_EQ(graph.node[1].name, "2");
  EXPECT_EQ(graph.node[1].scope, "Default/pool-MaxPool2d");
  EXPECT_EQ(graph.node[1].source_address,
            "      # In file train.py:13, 8~30/        x = self.pool(x)  # /2/");
  EXPECT_EQ(graph.node[3].op_type, "TupleGetItem");
  EXPECT_EQ(graph.node[3].input[0].name, "2");
  EXPECT_EQ(graph.node[3].input[1].name, "cst2");
  ASSERT_EQ(graph.const_vals.size(), 4u);
  EXPECT_EQ(graph.const_vals[2].key, "cst3");
  EXPECT_EQ(graph.const_vals[2].full_name, "Default_data-0");
  EXPECT_FALSE(graph.const_vals[2].value->tensor_val->tensor_content);
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.outputs[0].name, "7");
}

TEST(GraphPb, NamesOfParametersDifferFromNodesAndEachOther) {
  model::Graph graph = sample_graph();
  graph.parameters[0].name = graph.parameters[1].name = "1";
  const model::Graph read = decode(encode_graph_pb(graph, sample_line));
  EXPECT_EQ(read.nodes[0].inputs, graph.nodes[0].inputs);
  EXPECT_EQ(read.nodes[1].inputs, graph.nodes[1].inputs);
}

TEST(GraphPb, ReadsABareGraphOfARealNetwork) {
  const std::string bytes = read_or_empty(kLenet);
  if (bytes.empty()) GTEST_SKIP() << "the reference data is not here";
  const model::Graph graph = decode(bytes);
  EXPECT_EQ(graph.nodes.size(), 104u - 26u);  // without tuple_getitem
  EXPECT_EQ(graph.parameters[1].name, "args1");
  EXPECT_EQ(graph.parameters[2].type, sample_type({6, 1, 5, 5}));
  const Node& one_hot = find_node(graph, "OneHot-op0");
  EXPECT_EQ(one_hot.inputs[0].source, from_parameter(1));
  EXPECT_EQ(one_hot.inputs[0].type, sample_type({32}, DType::int32));
  EXPECT_EQ(one_hot.outputs[0].type, sample_type({32, 10}));
}

TEST(GraphPb, ReadsTheSiblingSchema) {
  const std::string bytes = read_or_empty(kAlexnet);
  if (bytes.empty()) GTEST_SKIP() << "the reference data is not here";
  const model::Graph graph = decode(bytes);
  EXPECT_GT(graph.nodes.size(), 100u);
  const Node& cast = graph.nodes[0];
  EXPECT_EQ(cast.op.type, "Cast");
  EXPECT_EQ(graph.parameters[cast.inputs[0].source.index].name, "inputs0");
}

TEST(GraphPb, OfSomethingElseIsAnError) {
  EXPECT_EQ(decode_graph_pb("").error().code(), Code::corrupt);
  EXPECT_EQ(decode_graph_pb("not a graph at all").error().code(), Code::corrupt);
}

}  // namespace
}  // namespace opdump::format
