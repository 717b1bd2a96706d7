#include "format/graphs/graph_ir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file/file.h"
#include "format/graphs/sample_graph.h"

namespace opdump::format {
namespace {

using model::Argument;
using model::DType;
using model::GraphParameter;
using model::Node;
using model::Shape;
using model::Source;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kSample = R"ir(# IR entry: @kernel_graph3
# Total subgraphs: 1

# Total params: 2
# Params:
%para1_x: <Tensor[Float32], (2, 1, 8, 8)>  :  <Float32xDefaultFormat[const vector]{2, 1, 8, 8}>  :  IsWeight: false
%para2_conv1.weight: <Ref[Tensor[Float32]], (6, 1, 5, 5), ref_key=conv1.weight>  :  has_default  :  <Float32xDefaultFormat[const vector]{6, 1, 5, 5}>  :  IsWeight: true

Node counting information:
Total number of nodes: 29
Total number of cnodes: 8

subgraph attr:
subgraph instance: kernel_graph3 : 0x0
# 5 operators in order of execution
subgraph @kernel_graph3() {
  %0(CNode_1) = convolution(%para1_x, %para2_conv1.weight, None, (I64(1), I64(1)), Bool(0), I64(1)) primitive_attrs: {input_names: [input, weight, bias, stride, transposed, groups]}
      : (<Tensor[Float32], (2, 1, 8, 8)>, <Ref[Tensor[Float32]], (6, 1, 5, 5), ref_key=conv1.weight>, <TypeNone, NoShape>, <Tuple[Int64*2], TupleShape(NoShape, NoShape)>, <Bool, NoShape>, <Int64, NoShape>) -> (<Tensor[Float32], (2, 6, 4, 4)>)
      : (<Float32xDefaultFormat[const vector]{2, 1, 8, 8}>, <Float32xDefaultFormat[const vector]{6, 1, 5, 5}>, <TypeNonexDefaultFormat[const vector]{}>, <Int64xDefaultFormat[const vector]{2}>, <BoolxDefaultFormat[const vector]{}>, <Int64xDefaultFormat[const vector]{}>) -> (<Float32xDefaultFormat[const vector]{2, 6, 4, 4}>)
      : (Tensor, Tensor, Unknown, Tuple, Scalar, Scalar) -> (Tensor)
      # Fullname with scope: (Default/conv1-Conv2d/convolution-op0)
      # In file train.py:12, 0~0//
  %1(CNode_2) = max_pool2d_with_indices(%0, (I64(2), I64(2))) primitive_attrs: {input_names: [self, kernel_size]}
      : (<Tensor[Float32], (2, 6, 4, 4)>, <Tuple[Int64*2], TupleShape(NoShape, NoShape)>) -> (<Tuple[Tensor[Float32], Tensor[Int64]], TupleShape((2, 6, 2, 2), (2, 6, 2, 2))>)
      : (<Float32xDefaultFormat[const vector]{2, 6, 4, 4}>, <Int64xDefaultFormat[const vector]{2}>) -> (<Float32xDefaultFormat[const vector]{2, 6, 2, 2}>, <Int64xDefaultFormat[const vector]{2, 6, 2, 2}>)
      : (Tensor, Tuple) -> (Tuple)
      # Fullname with scope: (Default/pool-MaxPool2d/max_pool2d_with_indices-op0)
      # In file train.py:13, 8~30/        x = self.pool(x)  # /2/
  %2(CNode_3) = TupleGetItem(%1, I64(0))
      : (<Tuple[Tensor[Float32], Tensor[Int64]], TupleShape((2, 6, 2, 2), (2, 6, 2, 2))>, <Int64, NoShape>) -> (<Tensor[Float32], (2, 6, 2, 2)>)
      : (<Float32xDefaultFormat[const vector]{2, 6, 2, 2}>, <Int64xDefaultFormat[const vector]{2, 6, 2, 2}>, <Int64xDefaultFormat[const vector]{}>) -> (<Float32xDefaultFormat[const vector]{2, 6, 2, 2}>)
      : (Tuple, Scalar) -> (Tensor)
      # Fullname with scope: (Default/pool-MaxPool2d/TupleGetItem-op0)
      # In file train.py:13, 8~30/        x = self.pool(x)  # /2/
  %3(CNode_4) = TupleGetItem(%1, I64(1))
      : (<Tuple[Tensor[Float32], Tensor[Int64]], TupleShape((2, 6, 2, 2), (2, 6, 2, 2))>, <Int64, NoShape>) -> (<Tensor[Int64], (2, 6, 2, 2)>)
      : (<Float32xDefaultFormat[const vector]{2, 6, 2, 2}>, <Int64xDefaultFormat[const vector]{2, 6, 2, 2}>, <Int64xDefaultFormat[const vector]{}>) -> (<Int64xDefaultFormat[const vector]{2, 6, 2, 2}>)
      : (Tuple, Scalar) -> (Tensor)
      # Fullname with scope: (Default/pool-MaxPool2d/TupleGetItem-op1)
      # In file train.py:13, 8~30/        x = self.pool(x)  # /2/
  %4(CNode_5) = cat(%2, %2, I64(-1)) primitive_attrs: {input_names: [tensors, tensors, dim]}
      : (<Tensor[Float32], (2, 6, 2, 2)>, <Tensor[Float32], (2, 6, 2, 2)>, <Int64, NoShape>) -> (<Tensor[Float32], (2, 6, 2, 4)>)
      : (<Float32xDefaultFormat[const vector]{2, 6, 2, 2}>, <Float32xDefaultFormat[const vector]{2, 6, 2, 2}>, <Int64xDefaultFormat[const vector]{}>) -> (<Float32xDefaultFormat[const vector]{2, 6, 2, 4}>)
      : (Tensor, Tensor, Scalar) -> (Tensor)
      # Fullname with scope: (Default/head-Head/cat-op0)
      # In file train.py:14, 0~0//
  %5(CNode_6) = add(%4, Tensor(shape=[], dtype=Float32, value=[...], name=data-0), F64(0.5)) primitive_attrs: {input_names: [self, other, alpha]}
      : (<Tensor[Float32], (2, 6, 2, 4)>, <Tensor[Float32], (), value=...>, <Float64, NoShape>) -> (<Tensor[Float32], (2, 6, 2, 4)>)
      : (<Float32xDefaultFormat[const vector]{2, 6, 2, 4}>, <Float32xDefaultFormat[const vector]{}>, <Float64xDefaultFormat[const vector]{}>) -> (<Float32xDefaultFormat[const vector]{2, 6, 2, 4}>)
      : (Tensor, Tensor, Scalar) -> (Tensor)
      # Fullname with scope: (Default/head-Head/add-op0)
      # In file train.py:14, 0~0//
  %6(CNode_7) = my__gather("a \"b\"", %5, %3, Tensor(shape=[], dtype=Float32, value=[...])) primitive_attrs: {input_names: [mode, self, index, ]} cnode_attrs: {operand_index: (0, 2, 3)}
      : (<String, NoShape>, <Tensor[Float32], (2, 6, 2, 4)>, <Tensor[Int64], (2, 6, 2, 2)>, <Tensor[Float32], (), value=...>) -> (<Tuple[TypeNone, Tensor[Bool]], TupleShape(NoShape, (7))>)
      : (<StringxDefaultFormat[const vector]{}>, <Float32xDefaultFormat[const vector]{2, 6, 2, 4}>, <Int64xDefaultFormat[const vector]{2, 6, 2, 2}>, <Float32xDefaultFormat[const vector]{}>) -> (<TypeNonexDefaultFormat[const vector]{}>, <BoolxDefaultFormat[const vector]{7}>)
      : (Unknown, Tensor, Tensor, Tensor) -> (Tuple)
      # Fullname with scope: (Default/head-Head/my::gather-op0)
  Return(%6)
      : (<Tuple[TypeNone, Tensor[Bool]], TupleShape(NoShape, (7))>)
      # Fullname with scope: (Default/Return-op0)
}


)ir";

model::Graph decode_one(std::string_view text) {
  auto graphs = decode_graph_ir(text);
  EXPECT_TRUE(graphs && graphs->size() == 1) << (graphs ? "" : graphs.error().message());
  return graphs && !graphs->empty() ? std::move((*graphs)[0]) : model::Graph();
}

std::optional<std::string> no_line(const std::string&, int) { return std::nullopt; }

TEST(GraphIr, IsWrittenToTheByte) { EXPECT_EQ(encode_graph_ir(sample_graph(), sample_line), kSample); }

TEST(GraphIr, IsWrittenAgainAsItWasRead) {
  EXPECT_EQ(encode_graph_ir(decode_one(kSample), no_line), kSample);
}

TEST(GraphIr, ReadsWhatItWrites) {
  const model::Graph written = sample_graph(), read = decode_one(kSample);
  EXPECT_EQ(read.id, 3);
  ASSERT_EQ(read.nodes.size(), written.nodes.size());
  EXPECT_EQ(read.parameters, written.parameters);
  for (std::size_t i = 0; i < read.nodes.size(); ++i) {
    const Node& ours = written.nodes[i];
    const Node& theirs = read.nodes[i];
    EXPECT_EQ(theirs.op.type, spell_operator_type(ours.op.type));
    EXPECT_EQ(theirs.op.name, ours.op.name);
    EXPECT_EQ(theirs.op.source_file, ours.op.source_file);
    EXPECT_EQ(theirs.op.source_line, ours.op.source_line);
    EXPECT_EQ(theirs.outputs, ours.outputs);
    EXPECT_EQ(theirs.inputs, ours.inputs) << ours.op.name;
  }
  EXPECT_EQ(read.nodes[0].arguments, written.nodes[0].arguments);
  EXPECT_EQ(read.nodes[4].arguments[0], written.nodes[4].arguments[0]);
}

TEST(GraphIr, OfNoOperatorsIsAFile) {
  model::Graph graph;
  const std::string text = encode_graph_ir(graph, no_line);
  EXPECT_THAT(text, HasSubstr("# Total params: 0\n\nNode counting information:\n"));
  EXPECT_THAT(text, HasSubstr("  Return(None)\n"));
  EXPECT_TRUE(decode_one(text).nodes.empty());
}

TEST(GraphIr, WhatBreaksTheGrammarIsSpelledOtherwise) {
  EXPECT_EQ(spell_operator_type("aten::add.Tensor"), "aten__add_Tensor");
  EXPECT_EQ(spell_operator_type("3d"), "_3d");
  EXPECT_EQ(spell_operator_type(""), "_");
  model::Graph graph = sample_graph();
  graph.parameters[0].name = "a, b: (c)\n%";
  graph.nodes[0].op.name = "Default/two\nlines-op0";
  graph.nodes[4].arguments[0].value = std::string("a\n)\"(, \\");
  const model::Graph read = decode_one(encode_graph_ir(graph, no_line));
  EXPECT_EQ(read.parameters[0].name, "a__b___c___");
  EXPECT_EQ(read.nodes[0].op.name, "Default/two lines-op0");
  EXPECT_EQ(std::get<std::string>(read.nodes[4].arguments[0].value), "a )\"(, \\");
  EXPECT_EQ(read.nodes.size(), 5u);
}

TEST(GraphIr, ASourceThatComesLaterIsNone) {
  model::Graph graph = sample_graph();
  graph.nodes[0].inputs[0].source = from_node(3);
  graph.nodes[1].inputs[0].source = from_parameter(77);
  const model::Graph read = decode_one(encode_graph_ir(graph, no_line));
  EXPECT_EQ(read.nodes[0].inputs[0].source, Source());
  EXPECT_EQ(read.nodes[1].inputs[0].source, Source());
}

const Node& find_node(const model::Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes)
    if (node.op.name == name) return node;
  ADD_FAILURE() << name;
  return graph.nodes[0];
}

TEST(GraphIr, ReadsARealFileWithSubGraphs) {
  const auto text =
      read_file(std::filesystem::path(OPDUMP_SOURCE_DIR) /
                    "../shared/testdata/mindspore/mstt-msprobe/embedded_extracted/18_validate_0068.ir",
                1 << 20);
  if (!text) GTEST_SKIP() << "the reference data is not here";
  const auto graphs = decode_graph_ir(*text);
  ASSERT_TRUE(graphs && graphs->size() == 3);
  const model::Graph& entry = (*graphs)[0];
  EXPECT_EQ(entry.name, "19_1___main___Net_construct_72");
  EXPECT_EQ((*graphs)[1].name, "20_4_✓__main___Net_construct_75");
  ASSERT_EQ(entry.nodes.size(), 7u);
  const model::TensorType scalar = sample_type({});
  EXPECT_THAT(entry.parameters, ElementsAre(GraphParameter{"x", scalar, GraphParameter::Role::input},
                                            GraphParameter{"y", scalar, GraphParameter::Role::input}));

  const Node& sub = find_node(entry, "Default/Sub-op0");
  EXPECT_EQ(sub.op.type, "PrimFunc_Sub");
  EXPECT_EQ(sub.op.source_file, "test_ir.py");
  EXPECT_EQ(sub.op.source_line, 16);
  ASSERT_EQ(sub.source.size(), 5u);
  EXPECT_EQ(sub.source[0],
            (model::SourceSpan{"test_ir.py", 15, 20, 4, 16, "    def construct(self, x, y):"}));
  EXPECT_EQ(sub.source[2].code, "        a = ops.sub(x, 1)");  // without the hint behind it
  EXPECT_THAT(sub.inputs, ElementsAre(Node::Input{0, scalar, from_parameter(0)}, Node::Input{1, scalar, {}}));

  const Node& cast = find_node(entry, "Default/Cast-op0");
  EXPECT_THAT(cast.outputs, ElementsAre(Node::Output{0, sample_type({}, DType::boolean)}));
  EXPECT_THAT(cast.arguments,
              ElementsAre(Argument{"x", Argument::Tensor{0}}, Argument{"dst_type", std::int64_t{30}}));
  const Node& partial = find_node(entry, "Default/Partial-op0");
  EXPECT_EQ(partial.inputs[1].index, 2u);
  EXPECT_EQ(partial.inputs[1].source, from_node(0));
  const Node& call = find_node(entry, "0");  // %5[@FuncUnion(...)]()
  EXPECT_EQ(call.op.type, "call");
  EXPECT_EQ(call.inputs[0].source, from_node(5));

  const Node& mul = find_node((*graphs)[1], "Default/Mul-op0");
  EXPECT_EQ((*graphs)[1].parameters[0].name, "Parameter_79");
  EXPECT_EQ((*graphs)[1].parameters[0].type, scalar);
  EXPECT_EQ(mul.inputs[0].source, from_parameter(0));
  EXPECT_EQ(mul.inputs[1].source, from_node(0));
}

TEST(GraphIr, ReadsAnExcerptOfVersionOne) {
  const model::Graph graph = decode_one(R"ir(
%20([CNode]449) = Conv2D(%17, %19) {instance name: conv2d} primitive_attrs: {kernel_size: (3, 3), input_names: [x, w], format: NCHW}
      : (<Tensor[Float32], (32, 256, 13, 13)>, <Tensor[Float32], (384, 256, 3, 3)>) -> (<Tensor[Float32], (32, 384, 13, 13)>)
      : (<Float16xNC1HWC0[const vector][32, 16, 13, 13, 16]>, <Float16xFracZ[const vector][144, 24, 16, 16]>) -> (<Float32xNC1HWC0[const vector][32, 24, 13, 13, 16]>)
      : full_name_with_scope: (Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/Conv2D-op12)
      # In file ./tain_alexnet.py(175)/ x = self.conv3(x)/
)ir");
  ASSERT_EQ(graph.nodes.size(), 1u);
  const Node& conv = graph.nodes[0];
  EXPECT_EQ(conv.op.type, "Conv2D");
  EXPECT_EQ(conv.op.name, "Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/Conv2D-op12");
  EXPECT_EQ(conv.op.source_file, "./tain_alexnet.py");
  EXPECT_EQ(conv.op.source_line, 175);
  EXPECT_EQ(conv.source[0].code, " x = self.conv3(x)");
  EXPECT_EQ(conv.inputs[1].type, sample_type({384, 256, 3, 3}));
  EXPECT_EQ(conv.arguments[1].name, "w");
  EXPECT_EQ(conv.outputs[0].type, sample_type({32, 384, 13, 13}));
}

// MindSpore 1.1 to 1.9 wrote graphs of kernels so: names without a word before them, shapes behind types.
TEST(GraphIr, ReadsNamesAndTypesOfVersionOne) {
  const model::Graph graph = decode_one(R"ir(#IR entry      : @kernel_graph_1
#Total params  : 2
%para1_x : <Tensor[Float32]x[const vector][32, 128, 13, 13]>  :  <Float32xDefaultFormat[const vector][32, 128, 13, 13]>  :  IsWeight:false
%para2_conv3.weight : <Ref[Tensor(F16)]x[const vector][192, 128, 3, 3]>  :  <Float16xDefaultFormat[const vector][192, 128, 3, 3]>  :  IsWeight:true
#Total subgraph : 1

subgraph @kernel_graph_1() {
  %0(equivoutput) = Conv2D(%para1_x, %para2_conv3.weight) {instance name: conv2d} primitive_attrs: {stride: (1, 1, 1, 1)}
      : (<Tensor[Float32]x[const vector][32, 128, 13, 13]>, <Tensor[Float16]x[const vector][192, 128, 3, 3]>) -> (<Tensor[Float16]x[const vector][32, 192, 13, 13]>)
      : (<Float16xNC1HWC0[const vector][32, 8, 13, 13, 16]>, <Float16xFracZ[const vector][72, 12, 16, 16]>) -> (<Float16xNC1HWC0[const vector][32, 12, 13, 13, 16]>)
      : (Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/Conv2D-op107)
      # In file alexnet.py(58)/        x = self.conv3(x)/
  return(%0)
      : (<Tensor[Float16]x[const vector][]>)
}
)ir");
  ASSERT_EQ(graph.nodes.size(), 1u);
  const Node& conv = graph.nodes[0];
  EXPECT_EQ(conv.op.name, "Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/Conv2D-op107");
  EXPECT_EQ(conv.op.source_line, 58);
  EXPECT_EQ(conv.inputs[0].type, sample_type({32, 128, 13, 13}));
  EXPECT_EQ(conv.inputs[1].type, (model::TensorType{model::DType::float16, {192, 128, 3, 3}}));
  EXPECT_EQ(conv.outputs[0].type, (model::TensorType{model::DType::float16, {32, 192, 13, 13}}));
  ASSERT_EQ(graph.parameters.size(), 2u);
  EXPECT_EQ(graph.parameters[1].type, (model::TensorType{model::DType::float16, {192, 128, 3, 3}}));
  EXPECT_EQ(graph.parameters[1].role, model::GraphParameter::Role::weight);
}

TEST(GraphIr, ATensorAmongTheOperandsMayTakeSeveralLines) {
  const model::Graph graph = decode_one(R"ir(# IR entry: @kernel_graph0
subgraph @kernel_graph0() {
  %0(a) = PrimFunc_MaskedFill(Tensor(shape=[12, 1], dtype=Float32, value=
[[ 1.00000000e+00]
 ...
 [ 1.00000000e+00]]), %para1_x, Tensor(shape=[], dtype=Float32, value=0)) cnode_attrs: {checkpoint: Bool(1)}
      : (<Tensor[Float32], (12, 1), value=...>, <Tensor[Bool], (12, 1)>, <Tensor[Float32], (), value=...>) -> (<Tensor[Float32], (12, 1)>)
      # Fullname with scope: (Default/MaskedFill-op2)
  %1(b) = PrimFunc_Neg(%0)
      : (<Tensor[Float32], (12, 1)>) -> (<Tensor[Float32], (12, 1)>)
      # Fullname with scope: (Default/Neg-op0)
}
)ir");
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].op.name, "Default/MaskedFill-op2");
  EXPECT_EQ(graph.nodes[0].inputs.size(), 3u);
  EXPECT_EQ(graph.nodes[0].outputs[0].type, sample_type({12, 1}));
  EXPECT_EQ(graph.nodes[1].op.name, "Default/Neg-op0");
}

TEST(GraphIr, ATupleOfEqualTypesIsCounted) {
  const model::Graph graph = decode_one(R"ir(# IR entry: @kernel_graph7
subgraph @kernel_graph7() {
  %0(a) = Split(%para1_x) {instance name: split}
      : (<Tensor[Int64], (4)>) -> (<Tuple[Tensor[Int64]*2, Tensor[Float16]], TupleShape((2), (2), ()), elements_use_flags={[const vector]{1, 1, 1}}>)
  %1(b) = TupleGetItem(%0, I64(2))
      : (<Tuple[Tensor[Int64]*2, Tensor[Float16]], TupleShape((2), (2), ())>, <Int64, NoShape>) -> (<Tensor[Float16], ()>)
      # Fullname with scope: (Default/TupleGetItem-op0)
  %2(c) = Neg(%1)
      : (<Tensor[Float16], ()>) -> (<Tensor[Float16], ()>)
}
)ir");
  ASSERT_EQ(graph.nodes.size(), 2u);
  const model::TensorType pair = sample_type({2}, DType::int64), half = sample_type({}, DType::float16);
  EXPECT_THAT(graph.nodes[0].outputs,
              ElementsAre(Node::Output{0, pair}, Node::Output{1, pair}, Node::Output{2, half}));
  EXPECT_EQ(graph.nodes[1].inputs[0].source, from_node(0, 2));
  EXPECT_EQ(graph.nodes[0].op.name, "");
}

TEST(GraphIr, OfHostileText) {
  EXPECT_EQ(decode_graph_ir("").error().code(), Code::corrupt);
  EXPECT_EQ(decode_graph_ir("some text\nand more").error().code(), Code::corrupt);
  const std::string_view damaged[] = {
      "%0(a = b(",
      "%0(a) = b(%1, (%2)",
      "%0(a) = b(\"",
      "%0(a) = b() primitive_attrs: {input_names: [",
      "%0(a) = b(%9)\n      : (<Tuple[Tensor[Float32]*99999999999], TupleShape(>) -> (<Tensor[",
      "%0(a) = b()\n      : () -> (<Tuple[Tensor[Float32]*99999999999], TupleShape(())>)",
      "%0(a) = TupleGetItem(%0, I64(-1))",
      "%0(a) = b()\n# In file x:99999999999999, 1~2/y/\n# In file :1, 2~3//\n# scope: (",
      "subgraph @",
      "subgraph @g parent: [subgraph @p](%para1_x, %para1_x",
      "%para1_: <Tensor[Float32], (99999999999999999999)>",
  };
  for (const std::string_view text : damaged) {
    const auto graphs = decode_graph_ir("# IR entry: @g\n" + std::string(text) + "\n%1(a) = c()\n");
    ASSERT_TRUE(graphs) << text;
    ASSERT_FALSE(graphs->back().nodes.empty()) << text;
    EXPECT_EQ(graphs->back().nodes.back().op.type, "c") << text;
  }
  std::string deep = "%0(a) = b(";
  deep.append(100000, '(').append(100000, ')').append(")");
  EXPECT_EQ(decode_one(deep).nodes.size(), 1u);
}

}  // namespace
}  // namespace opdump::format
