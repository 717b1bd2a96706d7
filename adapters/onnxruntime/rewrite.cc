#include "rewrite.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <unordered_set>

#include "fields.h"

namespace opdump::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

constexpr protozero::pbf_tag_type kGraph = 7, kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12;

void copy_field(pbf_reader& from, pbf_writer& to) {
  const auto tag = from.tag();  // moving the value out clears it
  switch (from.wire_type()) {
    case pbf_wire_type::varint:
      return to.add_uint64(tag, from.get_uint64());
    case pbf_wire_type::fixed64:
      return to.add_fixed64(tag, from.get_fixed64());
    case pbf_wire_type::fixed32:
      return to.add_fixed32(tag, from.get_fixed32());
    default:
      return to.add_bytes(tag, from.get_view());
  }
}

// A tensor of which only the dtype is known.
void add_input(pbf_writer& graph, const Feed& feed) {
  pbf_writer input(graph, kInput);
  input.add_string(1, feed.name.data(), feed.name.size());
  pbf_writer type(input, 2);
  pbf_writer tensor(type, 1);
  tensor.add_int32(1, feed.element_type);
}

void add_output(pbf_writer& graph, std::string_view name) {
  pbf_writer output(graph, kOutput);
  output.add_string(1, name.data(), name.size());
}

struct Selection {
  std::unordered_set<const char*> nodes, initializers;  // the messages that stay, by their first byte
  std::unordered_set<std::string_view>
      dropped;  // initializers that do not, old files name them as inputs too; inputs that are not fed
  std::span<const std::string_view> outputs;
};

Selection find_part(const ModelFile& model, std::span<const std::size_t> nodes,
                    std::span<const std::string_view> outputs) {
  Selection part;
  part.outputs = outputs;
  const auto need = [&](std::string_view name) {
    if (const auto found = model.initializer_of.find(name); found != model.initializer_of.end())
      part.initializers.insert(model.initializers[found->second].message.data());
  };
  for (const std::size_t index : nodes) {
    const Node& node = model.nodes[index];
    part.nodes.insert(node.message.data());
    for (const std::string_view name : node.inputs) need(name);
    for (const std::string_view name : node.captured) need(name);
  }
  for (const std::string_view name : outputs) need(name);
  for (const StoredTensor& tensor : model.initializers)
    if (!part.initializers.contains(tensor.message.data())) part.dropped.insert(tensor.name);
  return part;
}

std::string_view name_of(protozero::data_view value) {
  pbf_reader message(value);
  if (!message.next(1)) return {};
  return text_of(message);
}

void copy_graph(pbf_reader from, const Selection& part, pbf_writer& to) {
  while (from.next()) {
    const auto tag = from.tag();
    if (tag != kNode && tag != kInitializer && tag != kInput && tag != kOutput) {
      copy_field(from, to);
      continue;
    }
    const std::string_view text = text_of(from);
    const protozero::data_view view(text.data(), text.size());
    if ((tag == kNode && part.nodes.contains(view.data())) ||
        (tag == kInitializer && part.initializers.contains(view.data())) ||
        (tag == kInput && !part.dropped.contains(name_of(view))))
      to.add_bytes(tag, view);
  }
  for (const std::string_view name : part.outputs) add_output(to, name);
}

}  // namespace

std::string encode_more_outputs(std::span<const std::string_view> names) {
  std::string bytes;
  if (names.empty()) return bytes;
  pbf_writer model(bytes);
  pbf_writer graph(model, kGraph);
  for (const std::string_view name : names) add_output(graph, name);
  return bytes;
}

std::size_t max_more_outputs_bytes(const ModelFile& model) {
  constexpr std::size_t kTagAndLength = 6;  // of each of two nested messages
  std::size_t bytes = kTagAndLength;
  for (const auto& [name, node] : model.producers) bytes += name.size() + 2 * kTagAndLength;
  return bytes;
}

std::string encode_part(const ModelFile& model, std::span<const std::size_t> nodes,
                        std::span<const std::string_view> outputs, const std::vector<Feed>* feeds) {
  Selection part = find_part(model, nodes, outputs);
  if (feeds)
    for (const NamedValue& input : model.inputs)
      if (std::ranges::find(*feeds, input.name, &Feed::name) == feeds->end()) part.dropped.insert(input.name);
  std::string bytes;
  pbf_writer to(bytes);
  pbf_reader from(model.bytes.data(), model.bytes.size());
  while (from.next()) {
    if (from.tag() != kGraph) {
      copy_field(from, to);
      continue;
    }
    pbf_writer graph(to, kGraph);
    copy_graph(message_of(from), part, graph);
    for (const Feed& feed : feeds ? *feeds : std::vector<Feed>())
      if (std::ranges::find(model.inputs, feed.name, &NamedValue::name) == model.inputs.end())
        add_input(graph, feed);
  }
  return bytes;
}

}  // namespace opdump::onnx
