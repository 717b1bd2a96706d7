#include "model_file.h"

#include <algorithm>
#include <array>
#include <protozero/pbf_reader.hpp>
#include <queue>
#include <unordered_set>
#include <utility>

#include "dtypes.h"
#include "failure.h"
#include "fields.h"

namespace opdump::onnx {
namespace {

using protozero::pbf_reader;

constexpr int kMaxNesting = 32;  // of subgraphs
constexpr std::size_t kMaxRank = 64;

// A dimension: its size, or its name.
void read_dimension(pbf_reader dimension, NamedValue& value) {
  std::int64_t size = -1;
  std::string_view name;
  while (dimension.next()) {
    if (dimension.tag() == 1)
      size = integer_of(dimension);
    else if (dimension.tag() == 2)
      name = text_of(dimension);
    else
      dimension.skip();
  }
  value.dims.push_back(size);
  value.dim_names.push_back(name);
  if (value.dims.size() > kMaxRank)
    throw Failure("value " + std::string(value.name) + " has too many dimensions");
}

void read_tensor_type(pbf_reader type, NamedValue& value) {
  value.is_tensor = true;
  while (type.next()) {
    if (type.tag() == 1) {
      value.element_type = static_cast<int>(integer_of(type));
    } else if (type.tag() == 2) {
      value.has_shape = true;
      for (pbf_reader shape = message_of(type); shape.next();) {
        if (shape.tag() == 1)
          read_dimension(message_of(shape), value);
        else
          shape.skip();
      }
    } else {
      type.skip();
    }
  }
}

NamedValue read_value(pbf_reader message) {
  NamedValue value;
  while (message.next()) {
    if (message.tag() == 1) {
      value.name = text_of(message);
    } else if (message.tag() == 2) {
      for (pbf_reader type = message_of(message); type.next();) {
        if (type.tag() == 1)
          read_tensor_type(message_of(type), value);
        else
          type.skip();
      }
    } else {
      message.skip();
    }
  }
  return value;
}

std::uint64_t parse_number(std::string_view text, std::string_view tensor) {
  std::uint64_t number = 0;
  if (text.empty() || text.size() > 18 ||
      !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    throw Failure("initializer " + std::string(tensor) + ": its position in another file is '" +
                  std::string(text) + "'");
  for (const char c : text) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  return number;
}

void read_external(pbf_reader entry, StoredTensor& tensor) {
  std::string_view key, text;
  while (entry.next()) {
    if (entry.tag() == 1)
      key = text_of(entry);
    else if (entry.tag() == 2)
      text = text_of(entry);
    else
      entry.skip();
  }
  if (key == "location") tensor.external.location = text;
  if (key == "offset") tensor.external.offset = parse_number(text, tensor.name);
  if (key == "length") {
    tensor.external.length = parse_number(text, tensor.name);
    tensor.external.has_length = true;
  }
}

StoredTensor read_tensor(std::string_view bytes) {
  StoredTensor tensor;
  tensor.message = bytes;
  pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
          for (const std::int64_t dim : message.get_packed_int64()) {
            tensor.dims.push_back(dim);
            if (tensor.dims.size() > kMaxRank) break;
          }
        } else {
          tensor.dims.push_back(integer_of(message));
        }
        if (tensor.dims.size() > kMaxRank) throw Failure("an initializer has too many dimensions");
        break;
      case 2:
        tensor.element_type = static_cast<int>(integer_of(message));
        break;
      case 8:
        tensor.name = text_of(message);
        break;
      case 13:
        read_external(message_of(message), tensor);
        break;
      case 14:
        tensor.is_external = integer_of(message) == 1;
        break;
      default:
        message.skip();
    }
  }
  return tensor;
}

// Adds what the operators of a subgraph read to `read`, and what they and the subgraph define to `defined`.
void read_subgraph(pbf_reader graph, int depth, Node& node, std::unordered_set<std::string_view>& defined,
                   std::vector<std::string_view>& read);

void read_attribute(pbf_reader attribute, int depth, Node& node,
                    std::unordered_set<std::string_view>& defined, std::vector<std::string_view>& read) {
  while (attribute.next()) {
    if (attribute.tag() == 6 || attribute.tag() == 11)  // g, graphs
      read_subgraph(message_of(attribute), depth, node, defined, read);
    else
      attribute.skip();
  }
}

void read_inner_node(pbf_reader message, int depth, Node& node, std::unordered_set<std::string_view>& defined,
                     std::vector<std::string_view>& read) {
  ++node.inner_count;
  while (message.next()) {
    if (message.tag() == 1)
      read.push_back(text_of(message));
    else if (message.tag() == 2)
      defined.insert(text_of(message));
    else if (message.tag() == 5)
      read_attribute(message_of(message), depth, node, defined, read);
    else
      message.skip();
  }
}

void read_subgraph(pbf_reader graph, int depth, Node& node, std::unordered_set<std::string_view>& defined,
                   std::vector<std::string_view>& read) {
  if (depth > kMaxNesting) throw Failure("subgraphs are nested more than 32 deep");
  while (graph.next()) {
    if (graph.tag() == 1)
      read_inner_node(message_of(graph), depth + 1, node, defined, read);
    else if (graph.tag() == 5)
      defined.insert(read_tensor(text_of(graph)).name);
    else if (graph.tag() == 11)
      defined.insert(read_value(message_of(graph)).name);
    else if (graph.tag() == 12)
      read.push_back(read_value(message_of(graph)).name);
    else
      graph.skip();
  }
}

Node read_node(std::string_view bytes) {
  Node node;
  node.message = bytes;
  std::unordered_set<std::string_view> defined;
  std::vector<std::string_view> read;
  pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        node.inputs.push_back(text_of(message));
        break;
      case 2:
        node.outputs.push_back(text_of(message));
        break;
      case 3:
        node.name = text_of(message);
        break;
      case 4:
        node.type = text_of(message);
        break;
      case 5:
        read_attribute(message_of(message), 0, node, defined, read);
        break;
      case 7:
        node.domain = text_of(message);
        break;
      default:
        message.skip();
    }
  }
  for (const std::string_view name : read)
    if (!name.empty() && !defined.contains(name)) node.captured.push_back(name);
  return node;
}

void read_graph(pbf_reader graph, ModelFile& model) {
  while (graph.next()) {
    switch (graph.tag()) {
      case 1:
        model.nodes.push_back(read_node(text_of(graph)));
        break;
      case 2:
        model.graph_name = text_of(graph);
        break;
      case 5:
        model.initializers.push_back(read_tensor(text_of(graph)));
        break;
      case 11:
        model.inputs.push_back(read_value(message_of(graph)));
        break;
      case 12:
        model.outputs.push_back(read_value(message_of(graph)));
        break;
      case 13:
        model.value_infos.push_back(read_value(message_of(graph)));
        break;
      default:
        graph.skip();
    }
  }
}

// "ai.onnx" is another name of the domain without one.
std::string_view domain_of(std::string_view text) { return text == "ai.onnx" ? std::string_view() : text; }

void read_opset(pbf_reader opset, ModelFile& model) {
  std::string_view domain;
  std::int64_t version = 0;
  while (opset.next()) {
    if (opset.tag() == 1)
      domain = domain_of(text_of(opset));
    else if (opset.tag() == 2)
      version = integer_of(opset);
    else
      opset.skip();
  }
  model.opsets[domain] = version;
}

void read_function(pbf_reader function, ModelFile& model) {
  std::string_view domain, name;
  while (function.next()) {
    if (function.tag() == 1)
      name = text_of(function);
    else if (function.tag() == 10)
      domain = domain_of(text_of(function));
    else
      function.skip();
  }
  model.functions.emplace(domain, name);
}

// Every value has one producer, and everything that is read is there.
void find_producers(ModelFile& model) {
  for (std::size_t i = 0; i < model.initializers.size(); ++i)
    if (!model.initializer_of.emplace(model.initializers[i].name, i).second)
      throw Failure("initializer " + std::string(model.initializers[i].name) + " occurs twice");
  std::erase_if(model.inputs,
                [&](const NamedValue& value) { return model.initializer_of.contains(value.name); });
  std::unordered_set<std::string_view> inputs;
  for (const NamedValue& value : model.inputs)
    if (!inputs.insert(value.name).second)
      throw Failure("input " + std::string(value.name) + " occurs twice");
  model.producers.clear();
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    for (const std::string_view name : model.nodes[i].outputs) {
      if (name.empty()) continue;
      if (inputs.contains(name) || model.initializer_of.contains(name) ||
          !model.producers.emplace(name, i).second)
        throw Failure("value " + std::string(name) + " is produced twice");
    }
  for (const Node& node : model.nodes)
    for (const std::string_view name : node.inputs)
      if (!name.empty() && !inputs.contains(name) && !model.initializer_of.contains(name) &&
          !model.producers.contains(name))
        throw Failure("operator " + node.name + " reads " + std::string(name) + ", which nothing produces");
}

// Puts the operators into an order of execution, that of the file where it is one.
void sort_nodes(ModelFile& model) {
  const std::size_t count = model.nodes.size();
  std::vector<std::vector<std::size_t>> readers(count);
  std::vector<std::size_t> waits_for(count);
  const auto depend = [&](std::size_t reader, std::string_view name) {
    const auto producer = model.producers.find(name);
    if (producer == model.producers.end()) return;
    readers[producer->second].push_back(reader);
    ++waits_for[reader];
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string_view name : model.nodes[i].inputs) depend(i, name);
    for (const std::string_view name : model.nodes[i].captured) depend(i, name);
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waits_for[i] == 0) ready.push(i);
  std::vector<Node> sorted;
  sorted.reserve(count);
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    for (const std::size_t reader : readers[next])
      if (--waits_for[reader] == 0) ready.push(reader);
    sorted.push_back(std::move(model.nodes[next]));
  }
  if (sorted.size() < count) {
    const auto stuck = std::ranges::find_if(waits_for, [](std::size_t waits) { return waits > 0; });
    throw Failure("the graph has a cycle: operator " +
                  model.nodes[static_cast<std::size_t>(stuck - waits_for.begin())].name +
                  " needs its own output");
  }
  model.nodes = std::move(sorted);
  for (std::size_t i = 0; i < count; ++i)
    for (const std::string_view name : model.nodes[i].outputs)
      if (!name.empty()) model.producers[name] = i;
}

// Names identify operators: one without gets "Conv_3", one that is there already "relu_7", after its number.
void name_nodes(std::vector<Node>& nodes) {
  std::unordered_set<std::string> used;
  for (const Node& node : nodes) used.insert(node.name);
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    if (!node.name.empty() && seen.insert(node.name).second) continue;
    const std::string base = node.name.empty() ? std::string(node.type) : node.name;
    std::size_t number = i;
    do node.name = base + "_" + std::to_string(number++);
    while (!used.insert(node.name).second);
    seen.insert(node.name);
  }
}

}  // namespace

bool is_no_task(const Node& node) {
  constexpr std::array<std::string_view, 4> kTypes{"Constant", "If", "Loop", "Scan"};
  return (node.domain.empty() || node.domain == "ai.onnx") &&
         std::ranges::find(kTypes, node.type) != kTypes.end();
}

std::string ModelFile::function_of(const Node& node) const {
  const std::string_view domain = domain_of(node.domain);
  std::string function = (domain.empty() ? "onnx" : std::string(domain)) + "::" + std::string(node.type);
  if (const auto version = opsets.find(domain); version != opsets.end())
    function += "." + std::to_string(version->second);
  return function;
}

bool ModelFile::calls_functions() const {
  return !functions.empty() && std::ranges::any_of(nodes, [&](const Node& node) {
    return functions.contains({domain_of(node.domain), node.type});
  });
}

ModelFile read_model(std::string_view bytes) {
  ModelFile model;
  model.bytes = bytes;
  bool has_graph = false;
  try {
    pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.tag() == 7) {
        if (std::exchange(has_graph, true)) throw Failure("the model has several graphs");
        read_graph(message_of(message), model);
      } else if (message.tag() == 8) {
        read_opset(message_of(message), model);
      } else if (message.tag() == 25) {
        read_function(message_of(message), model);
      } else {
        message.skip();
      }
    }
  } catch (const protozero::exception& error) {
    throw Failure(std::string("not an ONNX model, or a part of one: ") + error.what());
  }
  if (!has_graph || model.nodes.empty()) throw Failure("not an ONNX model: it has no graph with operators");
  name_nodes(model.nodes);
  find_producers(model);
  sort_nodes(model);
  return model;
}

}  // namespace opdump::onnx
