#include "format/graphs/fusion_json.h"

#include <simdjson.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/json.h"
#include "base/text/text.h"
#include "format/graphs/ge/ge_graph.h"
#include "format/graphs/json_pieces.h"

namespace opdump::format {
namespace {

using nlohmann::json;

constexpr std::string_view kSlice = "_lxslice";
constexpr int kMaxDepth = 100;

enum class JsonKind : std::uint8_t { array, object, text, truth, integer, other };

// A value in a document of simdjson's, whose members and items are looked for by walking over them.
class Value {
 public:
  Value(simdjson::dom::element element) : element_(element) {}  // NOLINT: the same, seen so

  JsonKind kind() const {
    using Type = simdjson::dom::element_type;
    switch (element_.type()) {
      case Type::ARRAY:
        return JsonKind::array;
      case Type::OBJECT:
        return JsonKind::object;
      case Type::STRING:
        return JsonKind::text;
      case Type::BOOL:
        return JsonKind::truth;
      case Type::INT64:
      case Type::UINT64:
        return JsonKind::integer;
      default:
        return JsonKind::other;
    }
  }

  // The member of an object: of equal keys the last one.
  std::optional<Value> find(std::string_view key) const {
    std::optional<Value> found;
    const simdjson::dom::object object = element_.get_object().value_unsafe();
    for (const auto& field : object)
      if (field.key == key) found = Value(field.value);
    return found;
  }

  // To Python, true and false are integers.
  bool is(JsonKind wanted) const {
    return kind() == wanted || (wanted == JsonKind::integer && kind() == JsonKind::truth);
  }
  bool is_empty() const {  // an array, an object or a string
    if (kind() == JsonKind::text) return text().empty();
    return kind() == JsonKind::array ? items().size() == 0 : element_.get_object().value_unsafe().size() == 0;
  }

  // Whether Python can look for `word` in it, and does not find it.
  bool lacks(std::string_view word) const {
    if (kind() == JsonKind::text) return text().find(word) == std::string_view::npos;
    if (kind() == JsonKind::object) return !find(word);
    if (kind() != JsonKind::array) return false;
    for (const Value item : items())
      if (item.kind() == JsonKind::text && item.text() == word) return false;
    return true;
  }

  // The keys of an object, as strings.
  std::vector<std::string_view> keys() const {
    std::vector<std::string_view> keys;
    const simdjson::dom::object object = element_.get_object().value_unsafe();
    for (const auto& field : object) keys.push_back(field.key);
    return keys;
  }

  // What an array, a string, a bool, an integer holds.
  simdjson::dom::array items() const { return element_.get_array().value_unsafe(); }
  std::string_view text() const { return element_.get_string().value_unsafe(); }
  bool truth() const { return element_.get_bool().value_unsafe(); }
  std::int64_t integer() const {
    if (element_.is_bool()) return truth() ? 1 : 0;
    return element_.is_int64() ? element_.get_int64().value_unsafe()
                               : static_cast<std::int64_t>(element_.get_uint64().value_unsafe());
  }

 private:
  simdjson::dom::element element_;
};

// `text` as simdjson takes it: without numbers and depths beyond its limits, which nothing here looks at; the
// text that atc would make JSON of as JSON.
Result<std::string> plain_json(std::string_view text, const std::string& name) {
  const auto is_kept = [](int depth, json::parse_event_t, const json&) { return depth < kMaxDepth; };
  json root = json::parse(text, is_kept, false);
  if (root.is_discarded())
    if (const auto model = decode_ge_graph(text)) root = ge_graph_json(*model);
  if (root.is_discarded())
    return Error(Code::corrupt,
                 "Failed to load json object. The content of the json file \"'" + name + "'\" is invalid.");
  return json_text(root);
}

// The root lives as long as `parser`.
Result<Value> parse(simdjson::dom::parser& parser, std::string_view text, const std::string& name) {
  simdjson::dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS) return Value(root);
  OPDUMP_TRY(const std::string plain, plain_json(text, name));
  if (const auto failed = parser.parse(plain).get(root); failed != simdjson::SUCCESS)
    return Error(Code::corrupt, name + ": " + simdjson::error_message(failed));
  return Value(root);
}

// Calls look(graph, op) for each operator, one at a time.
template <typename Look>
Result<> parse_pieces(std::string_view text, const JsonPieces& pieces, const std::string& name,
                      const Look& look) {
  simdjson::dom::parser parser;
  std::size_t i = 0;
  for (std::size_t graph = 0; graph < pieces.graph_ends.size(); ++graph)
    for (; i < pieces.graph_ends[graph]; ++i) {
      const std::string_view op = text.substr(pieces.ops[i].begin, pieces.ops[i].size);
      OPDUMP_TRY(const Value value, parse(parser, op, name));
      look(graph, value);
    }
  return ok();
}

// Reads one file; the messages name it.
class FusionDecoder {
 public:
  explicit FusionDecoder(const std::string& file) : file_(file) {}

  Result<> decode(const Value& root, const TakeFusionOp& take) const {
    OPDUMP_TRY(const Value graphs, member(root, "graph", JsonKind::array));
    std::size_t number = 0;
    for (const Value graph : graphs.items()) {
      OPDUMP_TRY(const Value ops, member(graph, "op", JsonKind::array));
      for (const Value op : ops.items()) OPDUMP_CHECK_OK(decode_op(op, number, take));
      ++number;
    }
    return ok();
  }

  // As decode(), an operator at a time. What is no JSON counts more than what is wrong with an operator
  // before.
  Result<> decode(std::string_view text, const JsonPieces& pieces, const TakeFusionOp& take) const {
    simdjson::dom::parser parser;
    OPDUMP_CHECK_OK(parse(parser, pieces.rest, file_));
    Result<> done = ok();
    OPDUMP_CHECK_OK(parse_pieces(text, pieces, file_, [&](std::size_t graph, const Value& op) {
      if (done) done = decode_op(op, graph, take);
    }));
    return done;
  }

  Result<std::vector<std::string>> decode_names(const Value& root) const {
    std::vector<std::string> names;
    OPDUMP_TRY(const Value graphs, member(root, "graph", JsonKind::array));
    for (const Value graph : graphs.items()) {
      OPDUMP_TRY(const Value name, member(graph, "name", JsonKind::text));
      names.emplace_back(name.text());
    }
    return names;
  }

 private:
  using Found = std::optional<Value>;

  Error not_a(std::string_view key, std::string_view kind) const {
    return {Code::corrupt, "The content of the json file \"'" + file_ + "'\" is invalid. The \"" +
                               std::string(key) + "\" element is not " + std::string(kind) + "."};
  }

  static std::string_view kind_name(JsonKind kind) {
    switch (kind) {
      case JsonKind::array:
        return "an array";
      case JsonKind::text:
        return "a string";
      case JsonKind::truth:
        return "a bool";
      default:
        return "a integer";
    }
  }

  static Error missing(std::string_view key) {
    return {Code::not_found, "There is no \"" + std::string(key) + "\" element in fusion rule file."};
  }

  // A member that must be there.
  Result<Value> any_member(const Value& object, const char* key) const {
    const Found found = object.kind() == JsonKind::object ? object.find(key) : std::nullopt;
    if (found) return *found;
    return missing(key);
  }

  Result<Value> member(const Value& object, const char* key, JsonKind kind) const {
    OPDUMP_TRY(const Value value, any_member(object, key));
    if (!value.is(kind)) return not_a(key, kind_name(kind));
    return value;
  }

  // The value of attribute `key` of [{"key": ..., "value": {KIND: ...}}], or nothing. The first one counts.
  // The keys of an object and the letters of a string are items, too, but have no members.
  Result<Found> attribute(const Value& attributes, std::string_view key) const {
    if (attributes.kind() != JsonKind::array && !attributes.is_empty()) return missing("key");
    if (attributes.kind() != JsonKind::array) return Found();
    for (const Value attribute : attributes.items()) {
      OPDUMP_TRY(const Value name, member(attribute, "key", JsonKind::text));
      if (name.text() != key) continue;
      OPDUMP_TRY(const Value value, any_member(attribute, "value"));
      return Found(value);
    }
    return Found();
  }

  Result<Found> attribute(const Value& attributes, std::string_view key, const char* field,
                          JsonKind kind) const {
    OPDUMP_TRY(const Found value, attribute(attributes, key));
    if (!value) return value;
    OPDUMP_TRY(const Value content, member(*value, field, kind));
    return Found(content);
  }

  Result<std::string> text_attribute(const Value& attributes, std::string_view key) const {
    OPDUMP_TRY(const Found value, attribute(attributes, key, "s", JsonKind::text));
    return value ? std::string(value->text()) : std::string();
  }

  // The array of {"list": {FIELD: [...]}}; `is_given` if there is such an attribute.
  Result<Found> list_attribute(const Value& attributes, std::string_view key, const char* field,
                               bool& is_given) const {
    OPDUMP_TRY(const Found value, attribute(attributes, key));
    is_given = value.has_value();
    if (!value) return Found();
    OPDUMP_TRY(const Value list, any_member(*value, "list"));
    if (list.lacks(field)) return Found();
    if (list.kind() != JsonKind::object) return not_a("list", "an object");
    OPDUMP_TRY(const Value items, member(list, field, JsonKind::array));
    return Found(items);
  }

  Result<> decode_inputs(const Value& op, std::vector<std::string>& inputs) const {
    const Found found = op.find("input");
    if (!found) return ok();
    if (found->kind() != JsonKind::array) return not_a("input", "an array");
    for (const Value item : found->items()) {
      if (item.kind() != JsonKind::text) return not_a("input", "an array");
      const std::string_view input = item.text();
      if (!input.empty() && !input.ends_with(":-1")) inputs.push_back(without_slices(input));
    }
    return ok();
  }

  Result<> decode_output(const Value& attributes, std::int64_t position, FusionOutput& output) const {
    OPDUMP_TRY(output.origin_name, text_attribute(attributes, "_datadump_origin_name"));
    OPDUMP_TRY(const Found index,
               attribute(attributes, "_datadump_origin_output_index", "i", JsonKind::integer));
    output.origin_index = index ? index->integer() : position;
    OPDUMP_TRY(output.origin_format, text_attribute(attributes, "_datadump_origin_format"));
    if (output.origin_format.empty()) {
      OPDUMP_TRY(output.origin_format, text_attribute(attributes, "origin_format"));
    }
    bool is_given = false;
    OPDUMP_TRY(const Found shape, list_attribute(attributes, "origin_shape", "i", is_given));
    if (!shape) return ok();
    for (const Value dim : shape->items()) {
      if (!dim.is(JsonKind::integer)) {  // nobody looks at it before it is needed, which it hardly is
        output.origin_shape.clear();
        break;
      }
      output.origin_shape.push_back(dim.integer());
    }
    return ok();
  }

  // Items that are not objects contain no information, but they count. So do the keys of an object. Letters
  // of a string do not.
  Result<> decode_outputs(const Value& op, std::vector<FusionOutput>& outputs) const {
    const Found found = op.find("output_desc");
    if (!found || found->kind() == JsonKind::text) return ok();
    if (found->kind() == JsonKind::object) return check_keys(*found);
    if (found->kind() != JsonKind::array) return not_a("output_desc", "an array");
    std::int64_t position = 0;
    for (const Value description : found->items()) {
      const std::int64_t index = position++;
      if (description.kind() != JsonKind::object) {
        if (!description.lacks("attr") || !description.lacks("dtype"))
          return not_a("output_desc", "an array");
        continue;
      }
      const Found attributes = description.find("attr");
      if (!attributes) continue;
      if (!attributes->is(JsonKind::array) && !attributes->is(JsonKind::object) &&
          !attributes->is(JsonKind::text))
        return not_a("attr", "an array");
      FusionOutput output;
      OPDUMP_CHECK_OK(decode_output(*attributes, index, output));
      if (const Found dtype = description.find("dtype"); dtype && dtype->kind() == JsonKind::text)
        output.dtype = dtype->text();
      outputs.push_back(std::move(output));
    }
    return ok();
  }

  Result<> check_keys(const Value& outputs) const {
    for (const std::string_view key : outputs.keys())
      if (key.find("attr") != std::string_view::npos || key.find("dtype") != std::string_view::npos)
        return not_a("output_desc", "an array");
    return ok();
  }

  Result<> decode_original_names(const Value& attributes, FusionOp& op) const {
    OPDUMP_TRY(const Found names,
               list_attribute(attributes, "_datadump_original_op_names", "s", op.has_original_names));
    if (names)
      for (const Value name : names->items()) {
        if (name.kind() != JsonKind::text) return not_a("s", "an array");
        op.original_names.emplace_back(name.text());
      }
    if (op.original_names.empty())
      op.original_names.push_back(op.has_original_names ? std::string() : op.name);
    return ok();
  }

  Result<> decode_attributes(const Value& attributes, FusionOp& op) const {
    OPDUMP_TRY(const Found is_multi, attribute(attributes, "_datadump_is_multiop", "b", JsonKind::truth));
    op.is_multi = is_multi && is_multi->truth();
    OPDUMP_TRY(op.l1_group, text_attribute(attributes, "_L1_fusion_sub_graph_no"));
    return decode_original_names(attributes, op);
  }

  Result<> decode_op(const Value& object, std::size_t graph, const TakeFusionOp& take) const {
    FusionOp op;
    OPDUMP_CHECK_OK(decode_op(object, op));
    return take(graph, std::move(op));
  }

  Result<> decode_op(const Value& object, FusionOp& op) const {
    OPDUMP_TRY(const Value name, member(object, "name", JsonKind::text));
    op.name = without_slices(name.text());
    OPDUMP_TRY(const Value type, member(object, "type", JsonKind::text));
    op.type = type.text();
    OPDUMP_CHECK_OK(decode_inputs(object, op.inputs));
    OPDUMP_CHECK_OK(decode_outputs(object, op.outputs));
    if (object.find("attr")) {
      OPDUMP_TRY(const Value attributes, member(object, "attr", JsonKind::array));
      OPDUMP_CHECK_OK(decode_attributes(attributes, op));
    } else {
      op.original_names.push_back(op.name);
    }
    if (!object.find("id")) return ok();
    OPDUMP_TRY(const Value id, member(object, "id", JsonKind::integer));
    op.sequence = id.integer();
    return ok();
  }

  const std::string& file_;
};

}  // namespace

std::string without_slices(std::string_view name) {
  std::string result;
  while (!name.empty()) {
    const std::size_t at = std::min(name.find(kSlice), name.size());
    result.append(name.substr(0, at));
    name.remove_prefix(at);
    std::size_t end = std::min(kSlice.size(), name.size());
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end == kSlice.size()) result.append(kSlice);  // no number: it stays
    name.remove_prefix(end);
  }
  return result;
}

Result<> decode_fusion_json(std::string_view text, const std::string& name, const TakeFusionOp& take) {
  const std::optional<JsonPieces> pieces = cut_graphs(text);
  if (pieces) return FusionDecoder(name).decode(text, *pieces, take);
  simdjson::dom::parser parser;
  OPDUMP_TRY(const Value root, parse(parser, text, name));
  return FusionDecoder(name).decode(root, take);
}

Result<std::vector<std::string>> decode_graph_names(std::string_view text, const std::string& name) {
  const std::optional<JsonPieces> pieces = cut_graphs(text);
  if (pieces) OPDUMP_CHECK_OK(parse_pieces(text, *pieces, name, [](std::size_t, const Value&) {}));
  simdjson::dom::parser parser;
  OPDUMP_TRY(const Value root, parse(parser, pieces ? std::string_view(pieces->rest) : text, name));
  return FusionDecoder(name).decode_names(root);
}

}  // namespace opdump::format
