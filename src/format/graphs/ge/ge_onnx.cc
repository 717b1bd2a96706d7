#include "format/graphs/ge/ge_onnx.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "format/graphs/ge/ge_graph.h"

namespace opdump::format {
namespace {

// The numbers of onnx.TensorProto.DataType that are not called differently only.
constexpr std::pair<std::string_view, int> kOnnxTypes[] = {
    {"DT_FLOAT", 1},   {"DT_UINT8", 2},   {"DT_INT8", 3},       {"DT_UINT16", 4},      {"DT_INT16", 5},
    {"DT_INT32", 6},   {"DT_INT64", 7},   {"DT_BOOL", 9},       {"DT_FLOAT16", 10},    {"DT_DOUBLE", 11},
    {"DT_UINT32", 12}, {"DT_UINT64", 13}, {"DT_COMPLEX64", 14}, {"DT_COMPLEX128", 15}, {"DT_BF16", 16}};

std::string text_in(const ProtoMessage& message, std::string_view name) {
  const ProtoField* field = find_last(message, name);
  return field ? field->value : "";
}

// The attributes of a node, sorted by name as the engine has them.
class Attributes {
 public:
  // Zero is not written: it is what the field has without.
  void add_int(const std::string& name, const std::string& word) {
    ProtoMessage value;
    if (word == "true")
      value.push_back(proto_word("i", "1"));
    else if (!word.empty() && word != "0" && word != "false")
      value.push_back(proto_word("i", word));
    add(name, std::move(value), "INT");
  }

  void add_string(const std::string& name, const std::string& text) {
    ProtoMessage value;
    if (!text.empty()) value.push_back(proto_string("s", text));
    add(name, std::move(value), "STRING");
  }

  // All fields of `message` called `field`.
  void add_list(const std::string& name, const ProtoMessage& message, std::string_view field) {
    const bool is_text = field == "s" || field.ends_with("_name");
    const std::string_view item = is_text ? "strings" : field == "f" ? "floats" : "ints";
    ProtoMessage value;
    for (const ProtoField& from : message) {
      if (from.name != field || from.kind == ProtoField::Kind::message) continue;
      value.push_back(is_text ? proto_string(item, from.value) : proto_word(item, number(from.value)));
    }
    add(name, std::move(value), is_text ? "STRINGS" : field == "f" ? "FLOATS" : "INTS");
  }

  void add(const std::string& name, ProtoMessage value, std::string_view type) {
    value.insert(value.begin(), proto_string("name", name));
    value.push_back(proto_word("type", std::string(type)));
    sorted_.insert_or_assign(name, proto_message("attribute", std::move(value)));
  }

  void append_to(ProtoMessage& node) {
    for (auto& [name, attribute] : sorted_) node.push_back(std::move(attribute));
  }

 private:
  std::map<std::string, ProtoField> sorted_;

  static std::string number(const std::string& word) {
    return word == "true" ? "1" : word == "false" ? "0" : word;
  }
};

ProtoField convert_tensor(const ProtoMessage& tensor) {
  ProtoMessage result;
  const ProtoField* desc = find_last(tensor, "desc");
  if (desc) {
    if (const ProtoField* shape = find_last(desc->fields, "shape"))
      for (const ProtoField& dim : shape->fields) result.push_back(proto_word("dims", dim.value));
    const std::string dtype = text_in(desc->fields, "dtype");
    const auto* known = std::ranges::find(kOnnxTypes, dtype, &std::pair<std::string_view, int>::first);
    if (known != std::end(kOnnxTypes)) result.push_back(proto_number("data_type", known->second));
  }
  if (const ProtoField* data = find_last(tensor, "data"))
    result.push_back(proto_string("raw_data", data->value));
  return proto_message("t", std::move(result));
}

// Which field of a list holds its items.
std::string item_name(const ProtoMessage& list) {
  for (const ProtoField& field : list)
    if (field.name != "val_type") return field.name;
  const std::string type = text_in(list, "val_type");
  return type == "VT_LIST_STRING" ? "s" : type == "VT_LIST_FLOAT" ? "f" : "i";
}

void add_attribute(Attributes& attributes, const std::string& key, const ProtoField& value) {
  const std::string& kind = value.name;
  if (kind == "i" || kind == "b" || kind == "dt")
    attributes.add_int(key, value.value);
  else if (kind == "s")
    attributes.add_string(key, value.value);
  else if (kind == "f")
    attributes.add(key, {proto_word("f", value.value)}, "FLOAT");
  else if (kind == "t")
    attributes.add(key, {convert_tensor(value.fields)}, "TENSOR");
  else if (kind == "list")
    attributes.add_list(key, value.fields, item_name(value.fields));
}

void add_tensor(Attributes& attributes, const std::string& side, std::size_t index,
                const ProtoMessage& tensor) {
  const auto name = [&](std::string_view what) {
    return side + "_desc_" + std::string(what) + ":" + std::to_string(index);
  };
  attributes.add_string(name("dtype"), text_in(tensor, "dtype"));
  attributes.add_string(name("layout"), text_in(tensor, "layout"));
  const ProtoField* shape = find_last(tensor, "shape");
  attributes.add_list(name("shape"), shape ? shape->fields : ProtoMessage(), "dim");
  attributes.add_int(name("size"), text_in(tensor, "size"));
  attributes.add_int(name("real_dim_cnt"), text_in(tensor, "real_dim_cnt"));
  if (const ProtoMessage* dtype = find_ge_attribute(tensor, "origin_data_type"))
    attributes.add_string(name("origin_dtype"), text_in(*dtype, "s"));
  if (const ProtoMessage* layout = find_ge_attribute(tensor, "origin_format"))
    attributes.add_string(name("origin_layout"), text_in(*layout, "s"));
  if (const ProtoMessage* dims = find_ge_attribute(tensor, "origin_shape"))
    if (const ProtoField* list = find_last(*dims, "list"))
      attributes.add_list(name("origin_shape"), list->fields, "i");
}

void add_attributes(Attributes& attributes, const ProtoMessage& op) {
  std::size_t inputs = 0, outputs = 0;
  for (const ProtoField& field : op) {
    if (field.name == "input_desc") add_tensor(attributes, "input", inputs++, field.fields);
    if (field.name == "output_desc") add_tensor(attributes, "output", outputs++, field.fields);
    if (field.name != "attr") continue;
    const ProtoField* value = find_last(field.fields, "value");
    if (value && !value->fields.empty())
      add_attribute(attributes, text_in(field.fields, "key"), value->fields[0]);
  }
  if (find_first(op, "subgraph_name")) attributes.add_list("subgraph_name", op, "subgraph_name");
  attributes.add_int("input_desc_nums", std::to_string(inputs));
  attributes.add_int("output_desc_nums", std::to_string(outputs));
  for (const char* name : {"id", "stream_id"}) attributes.add_int(name, text_in(op, name));
  for (const char* name : {"src_name", "src_index", "dst_name", "dst_index"})
    attributes.add_list(name, op, name);
}

// "conv:0" for each output; of an operator that others only wait for "init:-1".
void add_outputs(ProtoMessage& node, const ProtoMessage& op, const std::string& name) {
  std::size_t count = 0;
  bool is_read = false;
  for (const ProtoField& field : op) {
    is_read = is_read || field.name == "dst_name";
    if (field.name == "output_desc")
      node.push_back(proto_string("output", name + ":" + std::to_string(count++)));
  }
  if (count == 0 && is_read) node.push_back(proto_string("output", name + ":-1"));
}

}  // namespace

std::string ge_onnx_begin_body(std::string_view name) {
  std::string text = "  node {\n";
  append_proto_text(text, proto_string("name", std::string(name)), 4);
  return text + "    op_type: \"subgraph\"\n    attribute {\n      name: \"graph\"\n      g {\n";
}

std::string ge_onnx_end_body(std::string_view name) {
  std::string text;
  append_proto_text(text, proto_string("name", std::string(name)), kGeOnnxBodyIndent);
  return text + "      }\n      type: GRAPH\n    }\n  }\n";
}

ProtoField ge_onnx_node(const ProtoMessage& op, bool only_relations) {
  const std::string name = text_in(op, "name");
  ProtoMessage node;
  for (const ProtoField& field : op)
    if (field.name == "input") node.push_back(proto_string("input", field.value));
  add_outputs(node, op, name);
  node.push_back(proto_string("name", name));
  node.push_back(proto_string("op_type", "ge:" + text_in(op, "type")));
  if (!only_relations) {
    Attributes attributes;
    add_attributes(attributes, op);
    attributes.append_to(node);
  }
  return proto_message("node", std::move(node));
}

}  // namespace opdump::format
