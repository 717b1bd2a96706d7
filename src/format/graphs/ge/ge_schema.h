// The schema of ge.proto, cann.md 6, as data: the messages of CANN's graph engine and their fields. The
// reader checks texts against it, and the JSON writer needs to know which fields are lists.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace opdump::format {

enum class GeMessage : std::uint8_t {
  none,
  model,
  graph,
  op,
  tensor_descriptor,
  shape,
  tensor,
  attribute,  // an entry of a map: key and value
  value,
  list,
  named_attributes,
  list_list_int,
  list_int,
  list_list_float,
  list_float,
};

struct GeField {
  enum class Type : std::uint8_t { text, bytes, integer, real, boolean, enumeration, message };
  std::string_view name;
  Type type;
  bool is_repeated = false;
  GeMessage message = GeMessage::none;  // of a message
};

// Of the messages, in the order of their numbers.
std::span<const GeField> ge_fields(GeMessage message);

// Null for a name that the message lacks.
const GeField* find_ge_field(GeMessage message, std::string_view name);

}  // namespace opdump::format
