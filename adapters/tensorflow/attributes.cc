#include "attributes.h"

#include <algorithm>
#include <utility>

#include <tensorflow/core/framework/types.h>

namespace opdump::tensorflow_adapter {
namespace {

namespace tf = tensorflow;

opdump_argument make(opdump_argument_kind kind) {
  opdump_argument argument{};
  argument.size = sizeof argument;
  argument.kind = kind;
  return argument;
}

opdump_argument integer(std::int64_t value) {
  opdump_argument argument = make(OPDUMP_ARGUMENT_INT);
  argument.integer = value;
  return argument;
}

opdump_argument real(double value) {
  opdump_argument argument = make(OPDUMP_ARGUMENT_FLOAT);
  argument.floating = value;
  return argument;
}

opdump_argument boolean(bool value) {
  opdump_argument argument = make(OPDUMP_ARGUMENT_BOOL);
  argument.integer = value;
  return argument;
}

}  // namespace

Attributes::Attributes(const tf::NodeDef& node) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.attr())
    if (name[0] != '_') names.push_back(name);
  std::sort(names.begin(), names.end());  // a protobuf map has no order
  for (std::string& name : names) {
    opdump_argument argument;
    if (!read(node.attr().at(name), argument)) continue;
    argument.name = texts_.emplace_back(std::move(name)).c_str();
    arguments_.push_back(argument);
  }
}

opdump_argument Attributes::text(std::string value) {
  opdump_argument argument = make(OPDUMP_ARGUMENT_STRING);
  argument.text = texts_.emplace_back(std::move(value)).c_str();
  return argument;
}

opdump_argument Attributes::list(List items) {
  opdump_argument argument = make(OPDUMP_ARGUMENT_LIST);
  const List& kept = lists_.emplace_back(std::move(items));
  argument.items = kept.data();
  argument.count = kept.size();
  return argument;
}

opdump_argument Attributes::shape(const tf::TensorShapeProto& shape) {
  List dimensions;
  for (const auto& dimension : shape.dim()) dimensions.push_back(integer(dimension.size()));
  return list(std::move(dimensions));
}

opdump_argument Attributes::items(const tf::AttrValue::ListValue& values) {
  List found;
  for (const auto& value : values.s()) found.push_back(text(std::string(value)));
  for (const auto value : values.i()) found.push_back(integer(value));
  for (const auto value : values.f()) found.push_back(real(value));
  for (const auto value : values.b()) found.push_back(boolean(value));
  for (const auto value : values.type())
    found.push_back(text(tf::DataTypeString(static_cast<tf::DataType>(value))));
  for (const auto& value : values.shape()) found.push_back(shape(value));
  return list(std::move(found));
}

bool Attributes::read(const tf::AttrValue& value, opdump_argument& to) {
  switch (value.value_case()) {
    case tf::AttrValue::kS:
      to = text(std::string(value.s()));
      return true;
    case tf::AttrValue::kI:
      to = integer(value.i());
      return true;
    case tf::AttrValue::kF:
      to = real(value.f());
      return true;
    case tf::AttrValue::kB:
      to = boolean(value.b());
      return true;
    case tf::AttrValue::kType:
      to = text(tf::DataTypeString(value.type()));
      return true;
    case tf::AttrValue::kShape:
      to = shape(value.shape());
      return true;
    case tf::AttrValue::kList:
      to = items(value.list());
      return true;
    default:
      return false;
  }
}

}  // namespace opdump::tensorflow_adapter
