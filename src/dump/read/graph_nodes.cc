#include "dump/read/graph_nodes.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/text/text.h"

namespace opdump::dump {
namespace {

std::int64_t number_of(std::string_view name) {
  const std::size_t at = find_operator_number(name);
  return at == std::string_view::npos ? -1 : parse_int64(name.substr(at)).value_or(-1);
}

// False if either is known not to be the other. Files of a view have its input's shape, so only the elements
// count.
bool fits(const model::TensorType& type, const Slot& slot) {
  if (type.dtype != model::DType::undefined && slot.dtype != model::DType::undefined &&
      type.dtype != slot.dtype)
    return false;
  const auto elements = model::element_count(type.shape);  // nothing: not known before it runs
  return !slot.shape || !elements || elements == model::element_count(*slot.shape);
}

bool fits(const model::Node& node, const std::vector<Slot>& slots) {
  return std::ranges::all_of(slots, [&](const Slot& slot) {
    if (slot.side == model::Side::input) {
      const auto input = std::ranges::find(node.inputs, slot.index, &model::Node::Input::index);
      // A number of the program has no type in the graph.
      return input == node.inputs.end() || input->type.dtype == model::DType::undefined ||
             fits(input->type, slot);
    }
    const auto output = std::ranges::find(node.outputs, slot.index, &model::Node::Output::index);
    return output == node.outputs.end() || fits(output->type, slot);
  });
}

}  // namespace

std::size_t find_operator_number(std::string_view name) {
  const std::size_t at = name.rfind("-op");
  return at != std::string_view::npos && is_digits(name.substr(at + 3)) ? at + 3 : std::string_view::npos;
}

std::string kind_name(std::string_view name) {
  return model::sanitise_name(name.substr(0, find_operator_number(name)));
}

NodesByName match_nodes(const Runs& runs, std::vector<std::uint32_t> executions,
                        std::vector<OrderedNode> nodes) {
  NodesByName found;
  if (executions.size() != nodes.size()) return found;
  const auto name_of = [&](std::uint32_t i) { return runs.without_slots(i).name; };
  std::ranges::sort(executions, {}, [&](std::uint32_t i) {
    return std::tuple(runs.time_of(i).value_or(UINT64_MAX), number_of(name_of(i)));
  });
  std::ranges::sort(nodes, {}, [](const OrderedNode& node) {
    return std::tuple(node.place, number_of(node.node->op.name));
  });
  for (const std::uint32_t i : executions) {
    auto node = nodes.begin();
    if (nodes.size() > 1) {
      const std::vector<Slot> slots = runs[i].slots;
      node = std::ranges::find_if(nodes, [&](const OrderedNode& next) { return fits(*next.node, slots); });
      if (node == nodes.end()) node = nodes.begin();  // as both count them
    }
    found.emplace(name_of(i), node->node);
    nodes.erase(node);
  }
  return found;
}

}  // namespace opdump::dump
