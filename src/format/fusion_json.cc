#include "format/fusion_json.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "format/ge_graph.h"

namespace opdump::format {
namespace {

using nlohmann::json;

constexpr std::string_view kSlice = "_lxslice";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads one file; the messages name it.
class Decoder {
 public:
  explicit Decoder(const std::string& file) : file_(file) {}

  Result<FusionFile> decode(const json& root) const {
    FusionFile result;
    OPDUMP_TRY(const json* graphs, member(root, "graph", json::value_t::array));
    for (const json& graph : *graphs) {
      OPDUMP_TRY(const json* ops, member(graph, "op", json::value_t::array));
      FusionGraph& made = result.graphs.emplace_back();
      for (const json& op : *ops) {
        OPDUMP_TRY(FusionOp decoded, decode_op(op));
        made.ops.push_back(std::move(decoded));
      }
    }
    return result;
  }

  Result<std::vector<std::string>> decode_names(const json& root) const {
    std::vector<std::string> names;
    OPDUMP_TRY(const json* graphs, member(root, "graph", json::value_t::array));
    for (const json& graph : *graphs) {
      OPDUMP_TRY(const json* name, member(graph, "name", json::value_t::string));
      names.push_back(name->get<std::string>());
    }
    return names;
  }

 private:
  Error not_a(std::string_view key, std::string_view kind) const {
    return {Code::corrupt, "The content of the json file \"'" + file_ + "'\" is invalid. The \"" +
                               std::string(key) + "\" element is not " + std::string(kind) + "."};
  }

  static std::string_view kind_name(json::value_t kind) {
    switch (kind) {
      case json::value_t::array:
        return "an array";
      case json::value_t::string:
        return "a string";
      case json::value_t::boolean:
        return "a bool";
      default:
        return "a integer";
    }
  }

  static bool is(const json& value, json::value_t kind) {
    return kind == json::value_t::number_integer ? value.is_number_integer() : value.type() == kind;
  }

  // A member that must be there.
  Result<const json*> any_member(const json& object, const char* key) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end())
      return Error(Code::not_found, "There is no \"" + std::string(key) + "\" element in fusion rule file.");
    return &*found;
  }

  Result<const json*> member(const json& object, const char* key, json::value_t kind) const {
    OPDUMP_TRY(const json* value, any_member(object, key));
    if (!is(*value, kind)) return not_a(key, kind_name(kind));
    return value;
  }

  // The value of attribute `key` of [{"key": ..., "value": {KIND: ...}}], or nothing.
  Result<const json*> attribute(const json& attributes, std::string_view key) const {
    for (const json& attribute : attributes) {
      OPDUMP_TRY(const json* name, member(attribute, "key", json::value_t::string));
      if (name->get_ref<const std::string&>() == key) return any_member(attribute, "value");
    }
    return static_cast<const json*>(nullptr);
  }

  Result<const json*> attribute(const json& attributes, std::string_view key, const char* field,
                                json::value_t kind) const {
    OPDUMP_TRY(const json* value, attribute(attributes, key));
    if (value == nullptr) return value;
    return member(*value, field, kind);
  }

  Result<std::string> text_attribute(const json& attributes, std::string_view key) const {
    OPDUMP_TRY(const json* value, attribute(attributes, key, "s", json::value_t::string));
    return value == nullptr ? std::string() : value->get<std::string>();
  }

  // {"list": {FIELD: [...]}}; nullptr if there is no such attribute, an empty array if it has no such field.
  Result<const json*> list_attribute(const json& attributes, std::string_view key, const char* field) const {
    static const json kEmpty = json::array();
    OPDUMP_TRY(const json* value, attribute(attributes, key));
    if (value == nullptr) return value;
    OPDUMP_TRY(const json* list, any_member(*value, "list"));
    if (!list->is_object()) return not_a("list", "an object");
    if (!list->contains(field)) return &kEmpty;
    return member(*list, field, json::value_t::array);
  }

  Result<std::vector<std::string>> decode_inputs(const json& op) const {
    std::vector<std::string> inputs;
    const auto found = op.find("input");
    if (found == op.end()) return inputs;
    if (!found->is_array()) return not_a("input", "an array");
    for (const json& item : *found) {
      if (!item.is_string()) return not_a("input", "an array");
      const std::string& input = item.get_ref<const std::string&>();
      if (!input.empty() && !input.ends_with(":-1")) inputs.push_back(without_slices(input));
    }
    return inputs;
  }

  Result<FusionOutput> decode_output(const json& attributes, std::int64_t position) const {
    FusionOutput output;
    OPDUMP_TRY(output.origin_name, text_attribute(attributes, "_datadump_origin_name"));
    OPDUMP_TRY(const json* index,
               attribute(attributes, "_datadump_origin_output_index", "i", json::value_t::number_integer));
    output.origin_index = index == nullptr ? position : index->get<std::int64_t>();
    OPDUMP_TRY(output.origin_format, text_attribute(attributes, "_datadump_origin_format"));
    if (output.origin_format.empty()) {
      OPDUMP_TRY(output.origin_format, text_attribute(attributes, "origin_format"));
    }
    OPDUMP_TRY(const json* shape, list_attribute(attributes, "origin_shape", "i"));
    for (const json& dim : shape == nullptr ? json::array() : *shape) {
      if (!dim.is_number_integer()) return not_a("i", "an array");
      output.origin_shape.push_back(dim.get<std::int64_t>());
    }
    return output;
  }

  Result<std::vector<FusionOutput>> decode_outputs(const json& op) const {
    std::vector<FusionOutput> outputs;
    const auto found = op.find("output_desc");
    if (found == op.end()) return outputs;
    if (!found->is_array()) return not_a("output_desc", "an array");
    std::int64_t position = 0;
    for (const json& description : *found) {
      const std::int64_t index = position++;
      if (!description.is_object()) return not_a("output_desc", "an array");
      const auto attributes = description.find("attr");
      if (attributes == description.end()) continue;
      if (!attributes->is_array()) return not_a("attr", "an array");
      OPDUMP_TRY(FusionOutput output, decode_output(*attributes, index));
      if (const auto dtype = description.find("dtype"); dtype != description.end() && dtype->is_string())
        output.dtype = dtype->get<std::string>();
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

  Result<> decode_original_names(const json& attributes, FusionOp& op) const {
    OPDUMP_TRY(const json* names, list_attribute(attributes, "_datadump_original_op_names", "s"));
    op.tells_original_names = names != nullptr;
    if (names == nullptr) op.original_names.push_back(op.name);
    for (const json& name : names == nullptr ? json::array() : *names) {
      if (!name.is_string()) return not_a("s", "an array");
      op.original_names.push_back(name.get<std::string>());
    }
    if (op.original_names.empty()) op.original_names.emplace_back();
    return ok();
  }

  Result<FusionOp> decode_op(const json& object) const {
    FusionOp op;
    OPDUMP_TRY(const json* name, member(object, "name", json::value_t::string));
    op.name = without_slices(name->get_ref<const std::string&>());
    OPDUMP_TRY(const json* type, member(object, "type", json::value_t::string));
    op.type = type->get<std::string>();
    OPDUMP_TRY(op.inputs, decode_inputs(object));
    OPDUMP_TRY(op.outputs, decode_outputs(object));
    static const json kNone = json::array();
    const json* attributes = &kNone;
    if (object.contains("attr")) {
      OPDUMP_TRY(attributes, member(object, "attr", json::value_t::array));
    }
    OPDUMP_TRY(const json* is_multi,
               attribute(*attributes, "_datadump_is_multiop", "b", json::value_t::boolean));
    op.is_multi = is_multi != nullptr && is_multi->get<bool>();
    OPDUMP_TRY(op.l1_group, text_attribute(*attributes, "_L1_fusion_sub_graph_no"));
    OPDUMP_CHECK_OK(decode_original_names(*attributes, op));
    if (object.contains("id")) {
      OPDUMP_TRY(const json* id, member(object, "id", json::value_t::number_integer));
      op.sequence = id->get<std::int64_t>();
    }
    return op;
  }

  const std::string& file_;
};

Result<json> parse(const std::string& text, const std::string& name) {
  json root = json::parse(text, nullptr, false);
  if (root.is_discarded())
    if (const auto model = decode_ge_graph(text)) root = ge_graph_json(*model);
  if (root.is_discarded())
    return Error(Code::corrupt,
                 "Failed to load json object. The content of the json file \"'" + name + "'\" is invalid.");
  return root;
}

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

Result<FusionFile> decode_fusion_json(std::string text, const std::string& name) {
  OPDUMP_TRY(const json root, parse(text, name));
  return Decoder(name).decode(root);
}

Result<std::vector<std::string>> decode_graph_names(const std::string& text, const std::string& name) {
  OPDUMP_TRY(const json root, parse(text, name));
  return Decoder(name).decode_names(root);
}

}  // namespace opdump::format
