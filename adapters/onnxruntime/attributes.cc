#include "attributes.h"

#include <cmath>
#include <cstring>
#include <limits>
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

// The bits of a floating type's exponent, which infinities and NaNs have all set; 0 of other types.
std::uint64_t exponent_of(std::int64_t data_type) {
  switch (data_type) {
    case 1:   // float
    case 14:  // complex64
      return 0x7f800000;
    case 10:  // float16
      return 0x7c00;
    case 16:  // bfloat16
      return 0x7f80;
    case 11:  // double
    case 15:  // complex128
      return 0x7ff0000000000000;
    default:
      return 0;
  }
}

template <typename Bits>
bool any_has(std::string_view raw, Bits exponent) {
  for (std::size_t at = 0; at + sizeof(Bits) <= raw.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, raw.data() + at, sizeof bits);
    if ((bits & exponent) == exponent) return true;
  }
  return false;
}

bool any_has(std::string_view raw, std::uint64_t exponent) {
  if (exponent == 0) return false;
  if (exponent <= UINT16_MAX) return any_has<std::uint16_t>(raw, static_cast<std::uint16_t>(exponent));
  if (exponent <= UINT32_MAX) return any_has<std::uint32_t>(raw, static_cast<std::uint32_t>(exponent));
  return any_has<std::uint64_t>(raw, exponent);
}

// Whether an element of a TensorProto is infinite or NaN.
bool is_non_finite(std::string_view tensor) {
  std::int64_t data_type = 0;
  for (pbf_reader field(tensor.data(), tensor.size()); field.next(2);) data_type = integer_of(field);
  const std::uint64_t exponent = exponent_of(data_type);
  if (exponent == 0) return false;
  for (pbf_reader field(tensor.data(), tensor.size()); field.next();) {
    const bool has_bits = field.tag() == 4 || field.tag() == 9 || field.tag() == 10;  // numbers or raw data
    if (has_bits && is_packed(field)) {
      if (any_has(text_of(field), exponent)) return true;
    } else if (field.tag() == 4) {
      if (!std::isfinite(float_of(field))) return true;
    } else if (field.tag() == 10) {
      if (!std::isfinite(double_of(field))) return true;
    } else if (field.tag() == 5 && is_packed(field)) {  // 16-bit floats, each in an integer
      for (const std::int32_t bits : field.get_packed_int32())
        if ((static_cast<std::uint64_t>(bits) & exponent) == exponent) return true;
    } else if (field.tag() == 5) {
      if ((static_cast<std::uint64_t>(integer_of(field)) & exponent) == exponent) return true;
    } else {
      field.skip();
    }
  }
  return false;
}

}  // namespace

Attributes::Attributes(std::string_view node, std::string_view function) {
  arguments_.push_back(text(function));
  arguments_.back().kind = OPDUMP_ARGUMENT_FUNCTION;
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
    } else if (field.tag() == 5) {
      if (!is_non_finite(text_of(field))) return;
      single = text("a tensor with infinities or NaNs");
      single->floating = std::numeric_limits<double>::infinity();
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
