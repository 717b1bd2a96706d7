#include "format/graphs/ge/ge_readable.h"

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "format/graphs/graph_rows.h"

namespace opdump::format {
namespace {

std::string join(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

std::string print_real(const std::string& word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  return failed == std::errc() ? std::to_string(value) : word;
}

template <typename T>
std::string print_element(T value) {
  if constexpr (std::same_as<T, bool>) return value ? "true" : "false";
  return std::to_string(value);
}

template <typename T>
std::vector<std::string> print_elements(std::string_view data) {
  const std::size_t count = data.size() / sizeof(T);
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > 6 && i == 3) {
      elements.emplace_back("...");
      i = count - 3;
    }
    std::array<char, sizeof(T)> bytes{};
    std::memcpy(bytes.data(), data.data() + i * sizeof(T), sizeof(T));
    if constexpr (std::same_as<T, bool>)
      elements.push_back(print_element(bytes[0] != 0));
    else
      elements.push_back(print_element(std::bit_cast<T>(bytes)));
  }
  return elements;
}

struct ElementPrinter {
  std::string_view dtype;
  std::vector<std::string> (*print)(std::string_view data);
};
constexpr ElementPrinter kPrinters[] = {{"DT_FLOAT", print_elements<float>},
                                        {"DT_DOUBLE", print_elements<double>},
                                        {"DT_INT8", print_elements<std::int8_t>},
                                        {"DT_INT16", print_elements<std::int16_t>},
                                        {"DT_INT32", print_elements<std::int32_t>},
                                        {"DT_INT64", print_elements<std::int64_t>},
                                        {"DT_UINT8", print_elements<std::uint8_t>},
                                        {"DT_UINT16", print_elements<std::uint16_t>},
                                        {"DT_UINT32", print_elements<std::uint32_t>},
                                        {"DT_UINT64", print_elements<std::uint64_t>},
                                        {"DT_BOOL", print_elements<bool>}};

std::string_view value_of(const ProtoMessage& message, std::string_view name) {
  const ProtoField* field = find_last(message, name);
  return field ? std::string_view(field->value) : std::string_view();
}

// Nothing for a tensor without data.
std::optional<std::string> print_tensor(const ProtoMessage& tensor) {
  const ProtoField* data = find_last(tensor, "data");
  const ProtoField* desc = find_last(tensor, "desc");
  if (!data || !desc) return std::nullopt;
  for (const ElementPrinter& printer : kPrinters)
    if (printer.dtype == value_of(desc->fields, "dtype"))
      return "[" + join(printer.print(data->value), " ") + "]";
  return "<not_supported>";
}

std::optional<std::string> print_value(const ProtoField& value) {
  if (value.name == "t") return print_tensor(value.fields);
  if (value.name == "f") return print_real(value.value);
  if (value.name == "s" && value.value.empty()) return std::nullopt;
  if (value.name == "s") return "\"" + one_line(value.value) + "\"";
  if (value.name != "list") return value.value;
  std::vector<std::string> items;
  for (const ProtoField& item : value.fields)
    if (item.name != "val_type")
      if (auto text = print_value(item)) items.push_back(*text);
  if (items.empty()) return std::nullopt;
  return "{" + join(items, ", ") + "}";
}

std::string print_attributes(const GeOp& op) {
  std::vector<std::string> parts;
  for (const GeOp::Subgraph& subgraph : op.subgraphs)
    parts.push_back(one_line(subgraph.attribute) + ": %" + one_line(subgraph.graph));
  for (const auto& [key, value] : op.attributes)
    if (!key.starts_with('_'))
      if (const auto text = print_value(value)) parts.push_back(one_line(key) + ": " + *text);
  return parts.empty() ? "" : "attrs = {" + join(parts, ", ") + "}";
}

std::string users(std::size_t count) { return " : [#users=" + std::to_string(count) + "] = "; }

}  // namespace

GeReadable::GeReadable(const GeOps& graph) : graph_(graph) {
  for (const GeOp& op : graph.ops)
    for (const std::string& input : op.inputs) ++readers_[input];
  std::size_t count = 0;
  for (const GeOp& op : graph.ops)
    for (std::size_t i = 0; op.output_types.size() > 1 && i < op.output_types.size(); ++i, ++count)
      items_.emplace(op.name + ":" + std::to_string(i), count == 0 ? "ret" : "ret_" + std::to_string(count));
}

std::string GeReadable::begin() const { return "graph(\"" + one_line(graph_.name) + "\"):\n"; }

std::string GeReadable::refer(const std::string& input) const {
  const auto item = items_.find(input);
  return "%" + (item != items_.end() ? item->second : one_line(input.substr(0, input.rfind(':'))));
}

std::string GeReadable::print_inputs(const GeOp& op) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].empty()) continue;
    const auto name = op.input_names.find(i);
    parts.push_back((name == op.input_names.end() ? "_input_" + std::to_string(i) : one_line(name->second)) +
                    "=" + refer(op.inputs[i]));
  }
  return parts.empty() ? "" : "inputs = (" + join(parts, ", ") + ")";
}

std::string GeReadable::print(const GeOp& op) {
  if (op.type == "NetOutput") return "";
  std::vector<std::string> parts;
  for (const std::string& part : {print_inputs(op), print_attributes(op)})
    if (!part.empty()) parts.push_back(part);
  const std::string name = one_line(op.name);
  std::string text = "  %" + name + users(op.output_types.size()) + "Node[type=" + one_line(op.type) + "] (" +
                     join(parts, ", ") + ")\n";
  if (op.output_types.size() < 2) return text;
  for (std::size_t i = 0; i < op.output_types.size(); ++i) {
    const std::string output = op.name + ":" + std::to_string(i);
    const auto readers = readers_.find(output);
    text += "  %" + items_.find(output)->second + users(readers == readers_.end() ? 0 : readers->second) +
            "get_element[node=%" + name + "](" + std::to_string(i) + ")\n";
  }
  return text;
}

std::string GeReadable::end() const {
  const std::vector<std::string>& outputs = graph_.ops.back().inputs;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    parts.push_back(outputs.size() == 1 ? refer(outputs[i])
                                        : "output_" + std::to_string(i) + "=" + refer(outputs[i]));
  return parts.empty() ? "" : "\n  return (" + join(parts, ", ") + ")\n";
}

}  // namespace opdump::format
