// Text from files, which may be anything, as text that does no harm to who reads it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace opdump {

// How what must not be printed is written instead: "\x1b", "\x9b" for bytes and "\u202e" for characters; or
// as JSON spells it, so that a line of JSON stays one.
enum class Escapes : bool { text, json };

// Appends `text` to `out` without what steers a terminal or shows a text other than it is: control characters
// (C0 but line feeds and tabs, DEL, C1), marks and overrides of the direction of writing, separators of lines
// and paragraphs, bytes that are no UTF-8. Everything else stays as it is. `kept`: texts that may steer.
void append_printable(std::string& out, std::string_view text, Escapes escapes = Escapes::text,
                      std::span<const std::string_view> kept = {});

}  // namespace opdump
