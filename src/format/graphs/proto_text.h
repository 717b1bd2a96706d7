// Protobuf's text format without a schema, as TextFormat of the C++ library prints it: a message is a list of
// fields, a field a word, a string or a message. What a field means, whether it may repeat and whether its
// kind is right is for who knows the schema (ge_schema.h).
//
// Printing what was read from such a file gives the same bytes: words are kept as they stand there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace opdump::format {

struct ProtoField;
using ProtoMessage = std::vector<ProtoField>;

struct ProtoField {
  enum class Kind : std::uint8_t { word, string, message };  // word: 5, -1e-05, true, DT_FLOAT

  std::string name;
  Kind kind = Kind::word;
  std::uint32_t line = 0;  // of the file, from 1; 0 if it comes from none
  std::string value;       // a word as it is written, or the bytes of a string
  ProtoMessage fields;     // of a message

  bool operator==(const ProtoField& other) const;  // whatever the lines
};

// Messages nested deeper, and files with more fields, are refused: a field takes about 100 bytes of memory.
inline constexpr int kMaxProtoTextDepth = 100;
inline constexpr std::size_t kMaxProtoTextFields = 1 << 25;

// Also read: < > for { }, lists in brackets, comments, single quotes, strings in pieces, names in brackets.
// Errors: corrupt, limit; the message is line:column and what is wrong.
Result<ProtoMessage> parse_proto_text(std::string_view text);

// Two blanks for each level, a field in each line.
std::string print_proto_text(const ProtoMessage& message);
void append_proto_text(std::string& out, const ProtoField& field, std::size_t indent);

// The first or last field of a name, or null. Of a field that must not repeat the last one counts.
const ProtoField* find_first(const ProtoMessage& message, std::string_view name);
const ProtoField* find_last(const ProtoMessage& message, std::string_view name);

// Fields for a message that is to be printed.
ProtoField proto_word(std::string_view name, std::string value);
ProtoField proto_number(std::string_view name, std::int64_t value);
ProtoField proto_bool(std::string_view name, bool value);
ProtoField proto_string(std::string_view name, std::string value);
ProtoField proto_message(std::string_view name, ProtoMessage fields);

}  // namespace opdump::format
