#include "op_graph.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "failure.h"

namespace opdump::acl {
namespace {

using protozero::pbf_writer;

// The operator in ONNX's words.
struct OnnxOp {
  std::string type;
  Attributes attributes;
};

// Operators that differ in name only. Those that are called the same are not here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kNames{
    {{"RealDiv", "Div"},
     {"Maximum", "Max"},
     {"Minimum", "Min"},
     {"AddN", "Sum"},
     {"LogicalNot", "Not"},
     {"LogicalAnd", "And"},
     {"LogicalOr", "Or"},
     {"GreaterEqual", "GreaterOrEqual"},
     {"LessEqual", "LessOrEqual"},
     {"BatchMatMul", "MatMul"},
     {"BatchMatMulV2", "MatMul"},
     {"Rint", "Round"},
     {"Select", "Where"}}};

template <typename T>
std::optional<T> take(Attributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return std::nullopt;
  const T* value = std::get_if<T>(&found->second);
  if (!value) return std::nullopt;
  std::optional<T> result = *value;
  attributes.erase(found);
  return result;
}

aclError refuse_attribute(const OpCall& call, const std::string& what) {
  return fail(ACL_ERROR_OP_ATTR_NOT_MATCH, "EP0006: operator " + call.type + ": " + what);
}

// Two matrices, either of which may be turned, and perhaps a bias.
aclError translate_matmul(const OpCall& call, OnnxOp& op) {
  const bool turn_a = take<bool>(op.attributes, "transpose_x1").value_or(false);
  const bool turn_b = take<bool>(op.attributes, "transpose_x2").value_or(false);
  take<std::int64_t>(op.attributes, "offset_x");
  op.type = "MatMul";
  if (!turn_a && !turn_b && call.inputs.size() == 2) return ACL_SUCCESS;
  op.type = "Gemm";
  op.attributes["transA"] = std::int64_t{turn_a};
  op.attributes["transB"] = std::int64_t{turn_b};
  return ACL_SUCCESS;
}

aclError translate_batch_matmul(const OpCall& call, OnnxOp& op) {
  const bool turned = take<bool>(op.attributes, "adj_x1").value_or(false) ||
                      take<bool>(op.attributes, "adj_x2").value_or(false);
  if (turned) return refuse_attribute(call, "adj_x1 and adj_x2 are not supported");
  return ACL_SUCCESS;
}

aclError translate_cast(const OpCall& call, OnnxOp& op) {
  std::optional<std::int64_t> type = take<std::int64_t>(op.attributes, "dst_type");
  if (const auto typed = take<aclDataType>(op.attributes, "dst_type")) type = *typed;
  const int onnx = type ? data_type(static_cast<aclDataType>(*type)).onnx : 0;
  if (onnx == 0) return refuse_attribute(call, "dst_type is missing, or a type that ONNX does not have");
  take<bool>(op.attributes, "truncate");
  op.attributes["to"] = std::int64_t{onnx};
  return ACL_SUCCESS;
}

aclError translate_softmax(const OpCall&, OnnxOp& op) {
  op.type = "Softmax";
  if (const auto axes = take<std::vector<std::int64_t>>(op.attributes, "axes"); axes && !axes->empty())
    op.attributes["axis"] = axes->front();
  return ACL_SUCCESS;
}

// Strides and dilations of all four dimensions, pads as top, bottom, left, right.
aclError translate_convolution(const OpCall& call, OnnxOp& op) {
  op.type = "Conv";
  if (!call.inputs.empty() && call.inputs[0]->format == ACL_FORMAT_NHWC)
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                "EP0006: operator " + call.type + ": its input is NHWC; expected NCHW");
  using List = std::vector<std::int64_t>;
  for (const char* name : {"strides", "dilations"}) {
    const auto list = take<List>(op.attributes, name);
    if (!list) continue;
    if (list->size() != 4) return refuse_attribute(call, std::string(name) + " must have four numbers");
    op.attributes[name] = List{(*list)[2], (*list)[3]};
  }
  if (const auto pads = take<List>(op.attributes, "pads")) {
    if (pads->size() != 4) return refuse_attribute(call, "pads must have four numbers");
    op.attributes["pads"] = List{(*pads)[0], (*pads)[2], (*pads)[1], (*pads)[3]};
  }
  if (const auto groups = take<std::int64_t>(op.attributes, "groups")) op.attributes["group"] = *groups;
  take<std::string>(op.attributes, "data_format");
  take<std::int64_t>(op.attributes, "offset_x");
  return ACL_SUCCESS;
}

aclError translate_leaky(const OpCall&, OnnxOp& op) {
  if (const auto slope = take<float>(op.attributes, "negative_slope")) op.attributes["alpha"] = *slope;
  return ACL_SUCCESS;
}

aclError translate_transpose(const OpCall&, OnnxOp& op) {
  op.type = "Transpose";
  return ACL_SUCCESS;
}

using Translate = aclError (*)(const OpCall&, OnnxOp&);
constexpr std::array<std::pair<std::string_view, Translate>, 11> kTranslations{
    {{"MatMul", translate_matmul},
     {"MatMulV2", translate_matmul},
     {"BatchMatMul", translate_batch_matmul},
     {"BatchMatMulV2", translate_batch_matmul},
     {"Cast", translate_cast},
     {"Softmax", translate_softmax},
     {"SoftmaxV2", translate_softmax},
     {"Conv2D", translate_convolution},
     {"LeakyRelu", translate_leaky},
     {"TransposeD", translate_transpose},
     {"Transpose", translate_transpose}}};

aclError translate(const OpCall& call, OnnxOp& op) {
  op.type = call.type;
  if (call.attributes) op.attributes = call.attributes->values;
  if (const auto* name =
          std::ranges::find(kNames, call.type, &std::pair<std::string_view, std::string_view>::first);
      name != kNames.end())
    op.type = name->second;
  const auto* found =
      std::ranges::find(kTranslations, call.type, &std::pair<std::string_view, Translate>::first);
  return found == kTranslations.end() ? ACL_SUCCESS : found->second(call, op);
}

std::string encode(const OpCall& call, const OnnxOp& op) {
  OnnxNode node{op.type, call.type, {}, {}, op.attributes};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) node.inputs.push_back("x" + std::to_string(i));
  for (std::size_t i = 0; i < call.output_count; ++i) node.outputs.push_back("y" + std::to_string(i));
  std::string bytes;
  pbf_writer model(bytes);
  write_versions(model);
  pbf_writer graph(model, 7);
  write_node(graph, node);
  graph.add_string(2, call.type);
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    write_input(graph, node.inputs[i], call.inputs[i]->type, call.inputs[i]->dims);
  for (const std::string& output : node.outputs) write_output(graph, output);
  return bytes;
}

}  // namespace

aclError make_op_model(const OpCall& call, std::string& model) {
  OnnxOp op;
  if (const aclError code = translate(call, op); code != ACL_SUCCESS) return code;
  for (const aclTensorDesc* input : call.inputs) {
    if (data_type(input->type).onnx == 0)
      return fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE, "EP0006: operator " + call.type + ": data type " +
                                                       std::to_string(input->type) +
                                                       " does not exist in ONNX");
    if (std::ranges::any_of(input->dims, [](std::int64_t dim) { return dim < 0; }))
      return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                  "EP0006: operator " + call.type + ": an input has an open dimension");
  }
  model = encode(call, op);
  return ACL_SUCCESS;
}

}  // namespace opdump::acl
