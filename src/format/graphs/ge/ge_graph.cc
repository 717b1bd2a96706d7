#include "format/graphs/ge/ge_graph.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text/text.h"
#include "format/graphs/ge/ge_schema.h"

namespace opdump::format {
namespace {

using FieldKind = ProtoField::Kind;
using Type = GeField::Type;

// Decimal, "0x1f" or "017", as the text format has integers. Those above 2^63 - 1 are none of ours.
std::optional<std::int64_t> parse_integer(std::string_view word) {
  const bool is_negative = word.starts_with('-');
  std::string_view digits = word.substr(is_negative ? 1 : 0);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X"))
    base = 16, digits.remove_prefix(2);
  else if (digits.size() > 1 && digits[0] == '0')
    base = 8;
  if (base == 10) return parse_int64(word);
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (failed != std::errc() || end != digits.data() + digits.size() || digits.starts_with('-'))
    return std::nullopt;
  return is_negative ? -number : number;
}

std::optional<bool> parse_boolean(std::string_view word) {
  if (word == "true" || word == "t" || word == "True" || word == "1") return true;
  if (word == "false" || word == "f" || word == "False" || word == "0") return false;
  return std::nullopt;
}

bool is_name(std::string_view word) {
  return !word.empty() && word.find_first_of("+-.") == std::string_view::npos;
}

bool fits(const ProtoField& field, Type type) {
  switch (type) {
    case Type::text:
    case Type::bytes:
      return field.kind == FieldKind::string;
    case Type::integer:
      return field.kind == FieldKind::word && parse_integer(field.value);
    case Type::real:
      return field.kind == FieldKind::word;
    case Type::boolean:
      return field.kind == FieldKind::word && parse_boolean(field.value);
    case Type::enumeration:
      return field.kind == FieldKind::word && (is_name(field.value) || parse_integer(field.value));
    case Type::message:
      return field.kind == FieldKind::message;
  }
  return false;
}

constexpr std::array<std::string_view, 7> kTypeNames{"a string",      "a string", "an integer", "a number",
                                                     "true or false", "a word",   "a message"};

Result<> check(const ProtoMessage& message, GeMessage schema) {
  for (const ProtoField& field : message) {
    const GeField* known = find_ge_field(schema, field.name);
    if (known == nullptr) continue;
    if (!fits(field, known->type)) {
      const std::string_view expected = kTypeNames[static_cast<std::size_t>(known->type)];
      return Error(Code::corrupt,
                   std::to_string(field.line) + ": " + field.name + " must be " + std::string(expected));
    }
    if (known->type == Type::message) OPDUMP_CHECK_OK(check(field.fields, known->message));
  }
  return ok();
}

using Json = nlohmann::json;

Json message_json(const ProtoMessage& message, GeMessage schema);

Json value_json(const ProtoField& field, const GeField* known) {
  const Type type = known ? known->type : Type::enumeration;
  if (field.kind == FieldKind::message)
    return message_json(field.fields, known ? known->message : GeMessage::none);
  if (field.kind == FieldKind::string) return field.value;
  if (type == Type::boolean) return *parse_boolean(field.value);
  if (type == Type::real) return field.value;
  if (const auto number = parse_integer(field.value)) return *number;
  return field.value;
}

// Null if nothing is in it. Such a message is left out where it stands, but not as the value of a map.
Json message_json(const ProtoMessage& message, GeMessage schema) {
  Json json;
  for (const ProtoField& field : message) {
    const GeField* known = find_ge_field(schema, field.name);
    if (known && known->type == Type::bytes) continue;
    Json value = value_json(field, known);
    const bool is_list = known && known->is_repeated;
    if (value.is_null() && !is_list && schema != GeMessage::attribute) continue;
    if (is_list)
      json[field.name].push_back(std::move(value));
    else
      json[field.name] = std::move(value);
  }
  return json;
}

std::string_view text_of(const ProtoMessage& message, std::string_view name) {
  const ProtoField* field = find_last(message, name);
  return field ? std::string_view(field->value) : std::string_view();
}

GeOperator list_operator(const ProtoMessage& op) {
  GeOperator result{text_of(op, "name"), text_of(op, "type"), {}};
  for (const ProtoField& field : op)
    if (field.name == "input") result.inputs.emplace_back(field.value);
  return result;
}

}  // namespace

Result<ProtoMessage> decode_ge_graph(std::string_view text) {
  OPDUMP_TRY(ProtoMessage model, parse_proto_text(text));
  OPDUMP_CHECK_OK(check(model, GeMessage::model));
  if (find_first(model, "graph") == nullptr)
    return Error(Code::corrupt, "1: there is no graph in it; expected graph { name: ... op { ... } }");
  return model;
}

nlohmann::json ge_graph_json(const ProtoMessage& model) { return message_json(model, GeMessage::model); }

std::vector<GeGraph> list_ge_graphs(const ProtoMessage& model) {
  std::vector<GeGraph> graphs;
  for (const ProtoField& field : model) {
    if (field.name != "graph") continue;
    GeGraph& graph = graphs.emplace_back();
    graph.name = text_of(field.fields, "name");
    for (const ProtoField& op : field.fields)
      if (op.name == "op") graph.operators.push_back(list_operator(op.fields));
  }
  return graphs;
}

const ProtoMessage* find_ge_attribute(const ProtoMessage& owner, std::string_view key) {
  for (const ProtoField& field : owner) {
    if (field.name != "attr" || text_of(field.fields, "key") != key) continue;
    const ProtoField* value = find_last(field.fields, "value");
    return value ? &value->fields : nullptr;
  }
  return nullptr;
}

}  // namespace opdump::format
