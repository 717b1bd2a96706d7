#include "dialect/json_section.h"

#include <algorithm>
#include <utility>

#include "base/text/json.h"
#include "base/text/text.h"

namespace opdump::dialect {
namespace {

constexpr std::size_t kLongestValue = 80;  // bytes of an offending value in a message

// RFC 6901 in a pointer, for keys that a user may have written.
std::string escape(std::string_view key) {
  std::string text;
  for (const char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return text;
}

std::string shorten(std::string text) {
  if (text.size() <= kLongestValue) return text;
  std::size_t end = kLongestValue;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole UTF-8 characters
  return text.substr(0, end) + "...";
}

std::string quote_key(std::string_view key) { return shorten(json_text(nlohmann::json(key))); }

}  // namespace

std::string describe_value(const nlohmann::json& value) {
  if (value.is_array()) return value.empty() ? "an empty array" : "an array";
  if (value.is_object()) return value.empty() ? "an empty object" : "an object";
  return shorten(json_text(value));
}

std::string suggest(std::string_view word, std::span<const std::string_view> choices) {
  const auto nearest = find_nearest(word.substr(0, kLongestValue), choices);
  return nearest ? "; did you mean \"" + std::string(*nearest) + "\"?" : "";
}

bool Warnings::has_room() {
  if (lines_.size() < kMax) return true;
  ++dropped_;
  return false;
}

void Warnings::add(std::string_view pointer, std::string_view message) {
  if (has_room()) lines_.push_back(document_.where(pointer) + ": " + std::string(message));
}

void Warnings::add_at_key(std::string_view pointer, std::string_view message) {
  if (has_room()) lines_.push_back(document_.where_key(pointer) + ": " + std::string(message));
}

void Warnings::add_repeated_keys() {
  for (std::string& line : document_.find_repeated_keys(kMax + 1))
    if (has_room()) lines_.push_back(std::move(line));
}

std::vector<std::string> Warnings::take() {
  if (dropped_ > 0)
    lines_.push_back(document_.name() + ": and " + std::to_string(dropped_) + " more warnings");
  return std::move(lines_);
}

JsonSection::JsonSection(const JsonDocument& document, std::string name)
    : document_(document), name_(std::move(name)) {
  const auto member = document.root().find(name_);
  if (member != document.root().end()) value_ = &*member;
}

const nlohmann::json* JsonSection::find(std::string_view key) const {
  if (value_ == nullptr) return nullptr;
  const auto member = value_->find(key);
  return member == value_->end() ? nullptr : &*member;
}

std::string JsonSection::pointer(std::string_view key) const { return "/" + name_ + "/" + escape(key); }

std::string JsonSection::pointer(std::string_view key, std::size_t index) const {
  return pointer(key) + "/" + std::to_string(index);
}

Error JsonSection::wrong(std::string_view key, std::string_view reason) const {
  return document_.error(pointer(key),
                         std::string(key) + " is " + describe_value(*find(key)) + "; " + std::string(reason));
}

Error JsonSection::wrong(std::string_view key, std::size_t index, std::string_view reason) const {
  return document_.error(pointer(key, index), std::string(key) + "[" + std::to_string(index) + "] is " +
                                                  describe_value((*find(key))[index]) + "; " +
                                                  std::string(reason));
}

Error JsonSection::wrong_choice(std::string_view key, std::span<const std::string_view> choices) const {
  return wrong(key, std::string(key) + " only supports " + join_or(choices) +
                        suggest(find(key)->get_ref<const std::string&>(), choices));
}

Error JsonSection::missing(std::string_view key, std::span<const std::string_view> known) const {
  std::string message = std::string(key) + " not found in " + name_ + ", which requires it";
  if (!is_object()) return document_.error("/" + name_, message);
  for (const auto& [candidate, value] : value_->items()) {
    const std::string_view word = std::string_view(candidate).substr(0, kLongestValue);
    if (std::ranges::find(known, word) != known.end()) continue;
    if (!find_nearest(word, std::span(&key, 1))) continue;
    return {Code::config, document_.where_key(pointer(candidate)) + ": " + message + "; is " +
                              quote_key(candidate) + " a misspelling?"};
  }
  if (document_.root().contains(key))
    return {Code::config,
            document_.where_key("/" + escape(key)) + ": " + message + "; here it is outside of it"};
  for (const auto& [other, value] : document_.root().items())
    if (value.is_object() && value.contains(key))
      return {Code::config, document_.where_key("/" + escape(other) + "/" + escape(key)) + ": " + message +
                                "; here it is in " + quote_key(other)};
  return document_.error("/" + name_, message);
}

void JsonSection::warn_unknown(std::span<const std::string_view> known, std::span<const KeyPlace> others,
                               Warnings& warnings) const {
  if (is_object()) warn_unknown_keys(*value_, "/" + name_, known, others, warnings);
}

Error JsonSection::wrong_type(std::string_view key, std::string_view type, std::string_view allowed) const {
  std::string reason = "should be " + std::string(type) + " type";
  if (!allowed.empty()) reason += ": " + std::string(allowed);
  return wrong(key, reason);
}

Result<std::uint64_t> JsonSection::read_unsigned(std::string_view key, std::string_view allowed) const {
  const nlohmann::json& value = *find(key);
  if (!value.is_number_unsigned()) return wrong_type(key, "unsigned int", allowed);
  return value.get<std::uint64_t>();
}

Result<std::string> JsonSection::read_string(std::string_view key, std::string_view allowed) const {
  const nlohmann::json& value = *find(key);
  if (!value.is_string()) return wrong_type(key, "string", allowed);
  return value.get<std::string>();
}

Result<bool> JsonSection::read_boolean(std::string_view key) const {
  const nlohmann::json& value = *find(key);
  if (!value.is_boolean()) return wrong_type(key, "boolean", "true or false");
  return value.get<bool>();
}

Result<const nlohmann::json*> JsonSection::read_array(std::string_view key, std::string_view allowed) const {
  const nlohmann::json* value = find(key);
  if (!value->is_array()) return wrong_type(key, "array", allowed);
  return value;
}

std::string_view place_of(std::string_view key, std::span<const KeyPlace> places) {
  for (const KeyPlace& place : places)
    if (std::ranges::find(place.keys, key) != place.keys.end()) return place.name;
  return {};
}

void warn_unknown_key(std::string_view key, const std::string& pointer,
                      std::span<const std::string_view> known, std::span<const KeyPlace> others,
                      Warnings& warnings) {
  if (std::ranges::find(known, key) != known.end() || !warnings.has_room()) return;
  std::string message = "unknown key " + quote_key(key);
  const std::string_view place = place_of(key, others);
  const std::string suggestion = suggest(key, known);
  if (!place.empty())
    message += "; it belongs in " + std::string(place);
  else
    message += suggestion.empty() ? "; ignored" : suggestion;
  warnings.add_at_key(pointer + "/" + escape(key), message);
}

void warn_unknown_keys(const nlohmann::json& object, const std::string& pointer,
                       std::span<const std::string_view> known, std::span<const KeyPlace> others,
                       Warnings& warnings) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) warn_unknown_key(key, pointer, known, others, warnings);
}

std::size_t count_keys(const nlohmann::json& object, std::span<const KeyPlace> places) {
  std::size_t count = 0;
  for (const auto& [key, value] : object.items()) count += place_of(key, places).empty() ? 0 : 1;
  return count;
}

std::string describe_place(const nlohmann::json& object, std::span<const KeyPlace> places) {
  if (!object.is_object()) return {};
  for (const auto& [key, value] : object.items())
    if (const std::string_view place = place_of(key, places); !place.empty())
      return "; " + quote_key(key) + " belongs in " + std::string(place);
  return {};
}

}  // namespace opdump::dialect
