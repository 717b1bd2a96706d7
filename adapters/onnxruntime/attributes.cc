#include "attributes.h"

#include <optional>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "fields.h"

namespace opdump::onnx {
namespace {

using protozero::pbf_reader;

// Of an attribute; longer ones are data rather than settings.
constexpr std::size_t kMaxItems = 1 << 16;
// Of subgraphs in subgraphs. The recorder accepts fewer.
constexpr int kMaxDepth = 24;

bool is_packed(const pbf_reader& field) {
  return field.wire_type() == protozero::pbf_wire_type::length_delimited;
}

// Appends what `make` makes of `values`, up to one more than is kept.
template <typename Values, typename Make>
void append(const Values& values, std::vector<opdump_argument>& items, const Make& make) {
  for (const auto value : values) {
    if (items.size() > kMaxItems) return;
    items.push_back(make(value));
  }
}

// The field `tag` of a message, a text; empty if it is not there.
std::string_view find_text(std::string_view message, protozero::pbf_tag_type tag) {
  std::string_view found;
  for (pbf_reader reader(message.data(), message.size()); reader.next();) {
    if (reader.tag() == tag)
      found = text_of(reader);
    else
      reader.skip();
  }
  return found;
}

}  // namespace

Attributes::Attributes(std::string_view node) {
  try {
    for (pbf_reader reader(node.data(), node.size()); reader.next();) {
      if (reader.tag() == 5)
        read_attribute(text_of(reader), arguments_);
      else
        reader.skip();
    }
  } catch (const protozero::exception&) {
    return;  // ONNX Runtime has its say on such a model
  }
}

opdump_argument Attributes::make(opdump_argument_kind kind) const {
  opdump_argument argument{};
  argument.size = sizeof argument;
  argument.kind = kind;
  return argument;
}

opdump_argument Attributes::text(std::string_view text) {
  opdump_argument argument = make(OPDUMP_ARGUMENT_STRING);
  argument.text = texts_.emplace_back(text).c_str();
  return argument;
}

opdump_argument Attributes::list(List items, opdump_argument_kind kind) {
  const List& kept = lists_.emplace_back(std::move(items));
  opdump_argument argument = make(kind);
  argument.items = kept.data();
  argument.count = kept.size();
  return argument;
}

opdump_argument Attributes::integer(std::int64_t value) const {
  opdump_argument argument = make(OPDUMP_ARGUMENT_INT);
  argument.integer = value;
  return argument;
}

opdump_argument Attributes::real(double value) const {
  opdump_argument argument = make(OPDUMP_ARGUMENT_FLOAT);
  argument.floating = value;
  return argument;
}

// AttributeProto: its kind follows from which of its fields is there.
void Attributes::read_attribute(std::string_view attribute, List& to) {
  List items;
  std::optional<opdump_argument> single;
  bool is_list = false;
  for (pbf_reader field(attribute.data(), attribute.size()); field.next() && items.size() <= kMaxItems;) {
    is_list = is_list || (field.tag() >= 7 && field.tag() <= 9);
    if (field.tag() == 2) {
      single = real(float_of(field));
    } else if (field.tag() == 3) {
      single = integer(integer_of(field));
    } else if (field.tag() == 4) {
      single = text(text_of(field));
    } else if (field.tag() == 6) {
      single = read_graph(text_of(field));
    } else if (field.tag() == 7 && is_packed(field)) {
      append(field.get_packed_float(), items, [&](float value) { return real(value); });
    } else if (field.tag() == 7) {
      items.push_back(real(float_of(field)));
    } else if (field.tag() == 8 && is_packed(field)) {
      append(field.get_packed_int64(), items, [&](std::int64_t value) { return integer(value); });
    } else if (field.tag() == 8) {
      items.push_back(integer(integer_of(field)));
    } else if (field.tag() == 9) {
      items.push_back(text(text_of(field)));
    } else {
      field.skip();
    }
  }
  if (items.size() > kMaxItems || (!is_list && !single)) return;
  opdump_argument argument = is_list ? list(std::move(items)) : *single;
  argument.name = texts_.emplace_back(find_text(attribute, 1)).c_str();
  to.push_back(argument);
}

// The form of OPDUMP_ARGUMENT_GRAPH.
opdump_argument Attributes::read_graph(std::string_view graph) {
  List inputs, constants, outputs, nodes;
  if (depth_ == kMaxDepth) return list({}, OPDUMP_ARGUMENT_GRAPH);
  ++depth_;
  for (pbf_reader field(graph.data(), graph.size()); field.next();) {
    if (field.tag() == 1)
      nodes.push_back(read_node(text_of(field), nodes.size()));
    else if (field.tag() == 5)
      constants.push_back(text(find_text(text_of(field), 8)));
    else if (field.tag() == 11)
      inputs.push_back(text(find_text(text_of(field), 1)));
    else if (field.tag() == 12)
      outputs.push_back(text(find_text(text_of(field), 1)));
    else
      field.skip();
  }
  --depth_;
  List items{list(std::move(inputs)), list(std::move(constants)), list(std::move(outputs))};
  items.insert(items.end(), nodes.begin(), nodes.end());
  return list(std::move(items), OPDUMP_ARGUMENT_GRAPH);
}

opdump_argument Attributes::read_node(std::string_view node, std::size_t number) {
  List inputs, outputs, attributes;
  const std::string_view type = find_text(node, 4);
  std::string name(find_text(node, 3));
  if (name.empty()) name = std::string(type) + "_" + std::to_string(number);
  for (pbf_reader field(node.data(), node.size()); field.next();) {
    if (field.tag() == 1)
      inputs.push_back(text(text_of(field)));
    else if (field.tag() == 2)
      outputs.push_back(text(text_of(field)));
    else if (field.tag() == 5)
      read_attribute(text_of(field), attributes);
    else
      field.skip();
  }
  return list({text(type), text(name), list(std::move(inputs)), list(std::move(outputs)),
               list(std::move(attributes))});
}

}  // namespace opdump::onnx
