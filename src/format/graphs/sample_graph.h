// The graph that tests of graph files share: one of each kind of operand, output and argument.
#pragma once

#include <optional>
#include <string>

#include "model/graph.h"

namespace opdump::format {

inline model::TensorType sample_type(model::Shape shape, model::DType dtype = model::DType::float32) {
  return {dtype, std::move(shape)};
}

inline model::Source from_node(std::uint32_t node, std::uint32_t output = 0) {
  return {model::Source::Kind::node, node, output};
}
inline model::Source from_parameter(std::uint32_t parameter) {
  return {model::Source::Kind::parameter, parameter, 0};
}

inline model::Node sample_node(std::string type, std::string scope, std::string number, int line) {
  model::Node node;
  node.op.name = "Default/" + scope + "/" + type + "-op" + number;
  node.op.type = std::move(type);
  node.op.source_file = line > 0 ? "train.py" : "";
  node.op.source_line = line;
  return node;
}

inline model::Argument numbers(std::string name, std::int64_t a, std::int64_t b) {
  return {std::move(name), model::Argument::List{{"", a}, {"", b}}};
}

inline model::Graph sample_graph() {
  using model::Argument;
  using model::DType;
  using Role = model::GraphParameter::Role;
  const model::TensorType image = sample_type({2, 1, 8, 8}), maps = sample_type({2, 6, 4, 4});
  const model::TensorType weight = sample_type({6, 1, 5, 5}), half = sample_type({2, 6, 2, 2});
  const model::TensorType places = sample_type({2, 6, 2, 2}, DType::int64), scalar = sample_type({});

  model::Graph graph;
  graph.id = 3;
  graph.parameters = {
      {"x", image, Role::input}, {"conv1.weight", weight, Role::weight}, {"data-0", scalar, Role::constant}};

  model::Node conv = sample_node("convolution", "conv1-Conv2d", "0", 12);
  conv.arguments = {{"input", Argument::Tensor{0}}, {"weight", Argument::Tensor{1}},
                    {"bias", Argument::None{}},     numbers("stride", 1, 1),
                    {"transposed", false},          {"groups", std::int64_t{1}}};
  conv.inputs = {{0, image, from_parameter(0)}, {1, weight, from_parameter(1)}};
  conv.outputs = {{0, maps}};

  model::Node pool = sample_node("max_pool2d_with_indices", "pool-MaxPool2d", "0", 13);
  pool.arguments = {{"self", Argument::Tensor{0}}, numbers("kernel_size", 2, 2)};
  pool.inputs = {{0, maps, from_node(0)}};
  pool.outputs = {{0, half}, {1, places}};

  model::Node cat = sample_node("cat", "head-Head", "0", 14);
  cat.arguments = {{"tensors", Argument::List{{"", Argument::Tensor{0}}, {"", Argument::Tensor{1}}}},
                   {"dim", std::int64_t{-1}}};
  cat.inputs = {{0, half, from_node(1)}, {1, half, from_node(1)}};
  cat.outputs = {{0, sample_type({2, 6, 2, 4})}};

  model::Node add = sample_node("add", "head-Head", "0", 14);
  add.arguments = {{"self", Argument::Tensor{0}}, {"other", Argument::Tensor{1}}, {"alpha", 0.5}};
  add.inputs = {{0, sample_type({2, 6, 2, 4}), from_node(2)}, {1, scalar, from_parameter(2)}};
  add.outputs = {{0, sample_type({2, 6, 2, 4})}};

  model::Node gather = sample_node("my::gather", "head-Head", "0", 0);
  gather.arguments = {
      {"mode", std::string("a \"b\"")}, {"self", Argument::Tensor{0}}, {"index", Argument::Tensor{2}}};
  gather.inputs = {
      {0, sample_type({2, 6, 2, 4}), from_node(3)}, {2, places, from_node(1, 1)}, {3, scalar, {}}};
  gather.outputs = {{1, sample_type({7}, DType::boolean)}};

  graph.nodes = {conv, pool, cat, add, gather};
  return graph;
}

// The program of the sample: line 13 only.
inline std::optional<std::string> sample_line(const std::string& file, int line) {
  if (file != "train.py" || line != 13) return std::nullopt;
  return "        x = self.pool(x)  # /2";
}

}  // namespace opdump::format
