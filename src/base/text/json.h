// JSON text with positions: nlohmann parses, and a message can still say file:line:column of any value.
// Accepted is what nlohmann accepts by default: no comments, a UTF-8 BOM is skipped, of equal keys the last
// one wins.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace opdump {

// One line without spaces, or lines indented by `indent` spaces. Bytes that are no UTF-8 become U+FFFD.
// Sources call these and parse_json() rather than nlohmann's own, each of which costs them seconds to
// compile.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

// A discarded value where `text` is no JSON.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);

// Parses an object member by member, in the order of the text, and keeps none: a large text is never in
// memory as values. The members are those of the root, or those of its member `key`. What Python writes for
// numbers that JSON lacks is read as text: "NaN", "Infinity", "-Infinity". Errors: corrupt -- not JSON, or no
// such object; what came before the damage has been taken.
using TakeMember = std::function<void(const std::string& name, nlohmann::json value)>;
Result<> parse_members(std::string_view text, std::string_view key, const TakeMember& take);

// Parses the array that is member `key` of the root object item by item, and keeps none. `take_member` gets
// the other members of the root that are no objects and no arrays, in the order of the text. Errors: corrupt
// -- not JSON, with line:column, or no such array; what came before the damage has been taken.
using TakeItem = std::function<void(nlohmann::json item)>;
Result<> parse_items(std::string_view text, std::string_view key, const TakeMember& take_member,
                     const TakeItem& take_item);

class JsonDocument {
 public:
  // Parses `text`. `name` is what messages call the document, usually its path.
  // Errors: config -- not JSON; the message is name:line:column and what was expected, or what the text is
  // instead (nothing, a gzip archive, ...).
  static Result<JsonDocument> parse(std::string name, std::string text);

  const nlohmann::json& root() const { return root_; }
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }

  // "name:line:column" of the value at `pointer` (RFC 6901, e.g. "/common_dump_settings/kernels/2"), counted
  // from 1 in bytes. A path that does not exist gives the position of its nearest existing ancestor.
  std::string where(std::string_view pointer) const;

  // Gives the position of the key of an object member instead of its value.
  std::string where_key(std::string_view pointer) const;

  // "name:line:column: the key "x" is repeated; the last one counts" for keys that their object has had
  // before, at most `most` of them.
  std::vector<std::string> find_repeated_keys(std::size_t most) const;

  // A config error at `pointer`: "name:line:column: message".
  Error error(std::string_view pointer, std::string_view message) const;

 private:
  JsonDocument(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  std::string name_, text_;
  nlohmann::json root_;
};

}  // namespace opdump
