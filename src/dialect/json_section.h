// Shared by the configuration languages in JSON: typed reading of an object's members, with messages
// "file:line:column: key is value; what is allowed", and a bounded list of warnings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text/json.h"
#include "dialect/options.h"

namespace opdump::dialect {

// The value for a message: scalars as in JSON, shortened; "an array", "an empty object" and the like for the
// rest.
std::string describe_value(const nlohmann::json& value);

// "; did you mean "max"?" if `word` looks like one of the choices, else "".
std::string suggest(std::string_view word, std::span<const std::string_view> choices);

// Lines for the user, with positions. Each position needs a scan of the text, and a hostile file could
// cause millions: after kMax of them only a count is kept.
class Warnings {
 public:
  static constexpr std::size_t kMax = 20;

  explicit Warnings(const JsonDocument& document) : document_(document) {}

  // At the value, or at the key, of `pointer` (RFC 6901).
  void add(std::string_view pointer, std::string_view message);
  void add_at_key(std::string_view pointer, std::string_view message);

  // Warns of the repeated keys of an object.
  void add_repeated_keys();

  // False if a further line would only be counted, and counts it.
  bool has_room();

  std::vector<std::string> take();

 private:
  const JsonDocument& document_;
  std::vector<std::string> lines_;
  std::size_t dropped_ = 0;
};

// An object that is a member of the document's root, e.g. "common_dump_settings".
class JsonSection {
 public:
  JsonSection(const JsonDocument& document, std::string name);

  // True if the root has the member, whatever its type.
  bool present() const { return value_ != nullptr; }
  bool is_object() const { return value_ != nullptr && value_->is_object(); }

  // The member `key`, or nullptr. A value that is not an object has no members.
  const nlohmann::json* find(std::string_view key) const;

  // "/name/key" and "/name/key/index".
  std::string pointer(std::string_view key) const;
  std::string pointer(std::string_view key, std::size_t index) const;

  // "key is VALUE; REASON" at the value of `key`, which must exist, or of its item.
  Error wrong(std::string_view key, std::string_view reason) const;
  Error wrong(std::string_view key, std::size_t index, std::string_view reason) const;

  // "key is "word"; key only supports a, b or c", with a suggestion, for a string that must be one of
  // `choices`.
  Error wrong_choice(std::string_view key, std::span<const std::string_view> choices) const;

  // "key not found in name", with a hint if a member that is not in `known` looks like it, or if it is
  // elsewhere in the document.
  Error missing(std::string_view key, std::span<const std::string_view> known) const;

  // A warning for each member that is not in `known`, with the nearest known key, or where it belongs.
  void warn_unknown(std::span<const std::string_view> known, std::span<const KeyPlace> others,
                    Warnings& warnings) const;

  // The value of `key`, which must exist. `allowed` completes the message for a wrong type: "0, 1 or 2".
  Result<std::uint64_t> read_unsigned(std::string_view key, std::string_view allowed) const;
  Result<std::string> read_string(std::string_view key, std::string_view allowed) const;
  Result<bool> read_boolean(std::string_view key) const;
  Result<const nlohmann::json*> read_array(std::string_view key, std::string_view allowed) const;

 private:
  Error wrong_type(std::string_view key, std::string_view type, std::string_view allowed) const;

  const JsonDocument& document_;
  std::string name_;
  const nlohmann::json* value_ = nullptr;
};

// The name of the section that `key` belongs in; empty if it is not in `places`.
std::string_view place_of(std::string_view key, std::span<const KeyPlace> places);

// A warning if `key` of the object at `pointer` ("" for the root) is not in `known`.
void warn_unknown_key(std::string_view key, const std::string& pointer,
                      std::span<const std::string_view> known, std::span<const KeyPlace> others,
                      Warnings& warnings);

// Warns in the same way of all keys of `object`.
void warn_unknown_keys(const nlohmann::json& object, const std::string& pointer,
                       std::span<const std::string_view> known, std::span<const KeyPlace> others,
                       Warnings& warnings);

// How many keys of `object` belong in one of `places`.
std::size_t count_keys(const nlohmann::json& object, std::span<const KeyPlace> places);

// "; "enable" belongs in e2e_dump_settings", if one of the keys of `object` belongs in one of `places`; else
// "".
std::string describe_place(const nlohmann::json& object, std::span<const KeyPlace> places);

}  // namespace opdump::dialect
