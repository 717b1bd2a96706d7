#include "dump/write/arguments_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "base/text/text.h"
#include "dump/file_name.h"

namespace opdump::dump {
namespace {

using model::Argument;

struct ArgumentPrinter {
  std::string operator()(const Argument::None&) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    std::array<char, 40> buffer;
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const Argument::Tensor&) const { return {}; }
  std::string operator()(const Argument::List& items) const {
    std::string text = "[";
    for (const Argument& item : items) {
      if (text.size() > 1) text += ' ';
      text += std::visit(*this, item.value);
    }
    return text + "]";
  }
};

bool holds_tensors(const Argument& argument) {
  if (std::holds_alternative<Argument::Tensor>(argument.value)) return true;
  const auto* items = std::get_if<Argument::List>(&argument.value);
  return items && std::ranges::any_of(*items, holds_tensors);
}

}  // namespace

bool is_arguments_file_name(std::string_view name) {
  constexpr std::string_view kEnd = ".json", kNumber = "-op";
  if (!name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  const std::size_t dot = name.find('.'), number = name.rfind(kNumber);
  return dot != std::string_view::npos && number != std::string_view::npos && dot < number &&
         parse_uint64(name.substr(number + kNumber.size())).has_value();
}

std::string arguments_file_name(const model::Operator& op) {
  const std::size_t slash = op.name.rfind('/');
  std::string type = slash == std::string::npos ? op.name : op.name.substr(slash + 1);
  if (const std::size_t dash = type.rfind('-'); dash != std::string::npos) type.resize(dash);
  std::string scope = op.name;
  std::ranges::replace_if(
      scope, [](char c) { return c == '.' || c == '/'; }, '_');
  model::Operator spelled = op;
  spelled.type = type;
  return file_type(spelled) + "." + scope + ".json";
}

std::string encode_arguments(std::span<const model::Argument> arguments) {
  nlohmann::json object;
  for (const Argument& argument : arguments)
    if (!holds_tensors(argument)) object[argument.name] = std::visit(ArgumentPrinter{}, argument.value);
  return json_text(object, 4);
}

}  // namespace opdump::dump
