// Texts made of pieces, with one allocation: messages about each of many thousand tensors.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace opdump {

// The pieces one after the other.
inline std::string concat(std::initializer_list<std::string_view> pieces) {
  std::size_t size = 0;
  for (const std::string_view piece : pieces) size += piece.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

}  // namespace opdump
