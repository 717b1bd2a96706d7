// Text as characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace opdump {

// A character of a text in UTF-8.
struct Character {
  char32_t point = 0;       // its number in Unicode; of a damaged one the byte
  std::size_t size = 1;     // in bytes
  bool is_damaged = false;  // a byte that belongs to no character
};

// The first character of `text`, which is not empty.
Character first_character(std::string_view text);

}  // namespace opdump
