#include "base/text/printable.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include "base/text/utf8.h"

namespace opdump {
namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= ' ' && byte < 0x7f) || c == '\n' || c == '\t';
}

// The length of the plain ASCII at the begin of `text`.
std::size_t plain_size(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
}

bool is_harmful(const Character& character) {
  const char32_t point = character.point;
  return character.is_damaged || point < 0xa0 || point == 0x61c || point == 0x200e || point == 0x200f ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

void append_escaped(std::string& out, const Character& character, Escapes escapes) {
  const auto point = static_cast<unsigned>(character.point);
  const bool is_byte = character.size == 1;
  std::array<char, 16> spelled{};
  if (escapes == Escapes::json)
    std::snprintf(spelled.data(), spelled.size(), "\\u%04x", character.is_damaged ? 0xfffd : point);
  else
    std::snprintf(spelled.data(), spelled.size(), is_byte ? "\\x%02x" : "\\u%04x", point);
  out += spelled.data();
}

}  // namespace

void append_printable(std::string& out, std::string_view text, Escapes escapes,
                      std::span<const std::string_view> kept) {
  while (!text.empty()) {
    std::size_t size = plain_size(text);
    if (size == 0) {
      const auto keep = std::ranges::find_if(kept, [&](std::string_view k) { return text.starts_with(k); });
      const Character character = first_character(text);
      size = keep != kept.end() ? keep->size() : character.size;
      if (keep == kept.end() && is_harmful(character)) {
        append_escaped(out, character, escapes);
        text.remove_prefix(size);
        continue;
      }
    }
    out.append(text, 0, size);
    text.remove_prefix(size);
  }
}

}  // namespace opdump
