#include "abi/arguments.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace opdump::abi {
namespace {

// Deeper ones are refused: none are in practice. A body in a body needs three levels.
constexpr int kMaxDepth = 24;

// An array whose element size is the caller's, who may have been built with a longer struct.
class Items {
 public:
  Items(const opdump_argument* first, std::size_t count)
      : first_(first), count_(first && first->size >= sizeof(opdump_argument) ? count : 0) {}

  std::size_t size() const { return count_; }
  const opdump_argument& operator[](std::size_t index) const {
    return *reinterpret_cast<const opdump_argument*>(reinterpret_cast<const std::byte*>(first_) +
                                                     index * first_->size);
  }
  // The items of the item `index`; none if it is no list.
  Items list(std::size_t index) const {
    if (index >= count_ || (*this)[index].kind != OPDUMP_ARGUMENT_LIST) return {nullptr, 0};
    return {(*this)[index].items, (*this)[index].count};
  }
  std::string text(std::size_t index) const {
    return index < count_ && (*this)[index].text ? (*this)[index].text : "";
  }

 private:
  const opdump_argument* first_;
  std::size_t count_;
};

std::vector<model::Argument> convert(Items items, int depth);

// Nothing for what is no argument, and for a graph.
bool convert_value(const opdump_argument& from, int depth, model::Argument& to) {
  switch (from.kind) {
    case OPDUMP_ARGUMENT_BOOL:
      to.value = from.integer != 0;
      break;
    case OPDUMP_ARGUMENT_INT:
      to.value = from.integer;
      break;
    case OPDUMP_ARGUMENT_FLOAT:
      to.value = from.floating;
      break;
    case OPDUMP_ARGUMENT_STRING:
      to.value = std::string(from.text ? from.text : "");
      to.is_non_finite = !std::isfinite(from.floating);
      break;
    case OPDUMP_ARGUMENT_TENSOR:
      to.value = model::Argument::Tensor{.operand = static_cast<std::uint32_t>(from.integer),
                                         .constant = from.text ? from.text : ""};
      break;
    case OPDUMP_ARGUMENT_LIST:
      to.value = convert({from.items, from.count}, depth + 1);
      break;
    case OPDUMP_ARGUMENT_GRAPH:
    case OPDUMP_ARGUMENT_FUNCTION:
    case OPDUMP_ARGUMENT_STATE:
      return false;
    default:
      break;
  }
  return true;
}

std::vector<model::Argument> convert(Items items, int depth) {
  std::vector<model::Argument> result;
  if (depth > kMaxDepth) return result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    model::Argument argument;
    argument.name = items[i].name ? items[i].name : "";
    if (convert_value(items[i], depth, argument)) result.push_back(std::move(argument));
  }
  return result;
}

std::vector<model::Body> convert_bodies(Items items, int depth);

// Makes a graph of operators that name what they read and make.
class BodyBuilder {
 public:
  model::Graph build(Items items, int depth) {
    using Role = model::GraphParameter::Role;
    for (const auto& [index, role] : {std::pair(0, Role::input), std::pair(1, Role::constant)})
      for (std::size_t i = 0; i < items.list(index).size(); ++i)
        add_parameter(items.list(index).text(i), role);
    for (std::size_t i = 3; i < items.size(); ++i) add_node(items.list(i), depth);
    for (std::size_t i = 0; i < items.list(2).size(); ++i)
      graph_.outputs.push_back(find(items.list(2).text(i)));
    return std::move(graph_);
  }

 private:
  model::Source add_parameter(const std::string& name, model::GraphParameter::Role role) {
    const model::Source source{model::Source::Kind::parameter,
                               static_cast<std::uint32_t>(graph_.parameters.size()), 0};
    graph_.parameters.push_back({name, {}, role});
    return made_.insert_or_assign(name, source).first->second;
  }

  // What nothing here makes comes from outside.
  model::Source find(const std::string& name) {
    const auto known = made_.find(name);
    return known != made_.end() ? known->second : add_parameter(name, model::GraphParameter::Role::input);
  }

  void add_node(Items op, int depth) {
    model::Node node;
    node.op.type = op.text(0);
    node.op.name = op.text(1);
    const Items inputs = op.list(2), outputs = op.list(3), arguments = op.list(4);
    for (std::uint32_t i = 0; i < inputs.size(); ++i)
      if (!inputs.text(i).empty()) node.inputs.push_back({i, {}, find(inputs.text(i))});
    const auto number = static_cast<std::uint32_t>(graph_.nodes.size());
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      if (outputs.text(i).empty()) continue;
      node.outputs.push_back({i, {}});
      made_.insert_or_assign(outputs.text(i), model::Source{model::Source::Kind::node, number, i});
    }
    node.arguments = convert(arguments, depth + 1);
    node.bodies = convert_bodies(arguments, depth + 1);
    graph_.nodes.push_back(std::move(node));
  }

  model::Graph graph_;
  std::map<std::string, model::Source, std::less<>> made_;
};

// Of words, not of bytes as FNV-1a: each call of an operator is hashed.
class Hash {
 public:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15u;
    value_ ^= value_ >> 32;
  }
  void add(std::string_view text) {
    add(text.size());
    for (std::uint64_t word; !text.empty(); text.remove_prefix(std::min(text.size(), sizeof word))) {
      std::memcpy(&(word = 0), text.data(), std::min(text.size(), sizeof word));
      add(word);
    }
  }
  void add(Items items, int depth) {
    if (depth > kMaxDepth) return;
    add(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const opdump_argument& item = items[i];
      add(static_cast<std::uint64_t>(item.kind));
      add(static_cast<std::uint64_t>(item.integer));
      add(std::bit_cast<std::uint64_t>(item.floating));
      if (item.text) add(std::string_view(item.text));
      if (item.kind == OPDUMP_ARGUMENT_LIST) add(Items(item.items, item.count), depth + 1);
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

std::vector<model::Body> convert_bodies(Items items, int depth) {
  std::vector<model::Body> bodies;
  if (depth > kMaxDepth) return bodies;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const opdump_argument& item = items[i];
    if (item.kind != OPDUMP_ARGUMENT_GRAPH) continue;
    bodies.push_back({item.name ? item.name : "", BodyBuilder().build({item.items, item.count}, depth + 2)});
  }
  return bodies;
}

}  // namespace

std::vector<model::Argument> to_arguments(const opdump_argument* arguments, std::size_t count) {
  return convert({arguments, count}, 0);
}

std::string to_function(const opdump_argument* arguments, std::size_t count) {
  const Items items(arguments, count);
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].kind == OPDUMP_ARGUMENT_FUNCTION) return items.text(i);
  return {};
}

std::map<std::string, std::string> to_state(const opdump_argument* arguments, std::size_t count) {
  const Items items(arguments, count);
  std::map<std::string, std::string> state;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i].kind == OPDUMP_ARGUMENT_STATE && items[i].name) state[items[i].name] = items.text(i);
  return state;
}

std::uint64_t hash_arguments(const opdump_argument* arguments, std::size_t count) {
  Hash hash;
  hash.add(Items(arguments, count), 0);
  return hash.value();
}

std::vector<model::Body> to_bodies(const opdump_argument* arguments, std::size_t count) {
  return convert_bodies({arguments, count}, 0);
}

}  // namespace opdump::abi
