#include "base/text/utf8.h"

namespace opdump {

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Character damaged{byte(0), 1, true};
  if (byte(0) < 0x80) return {byte(0), 1, false};
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by size
  const std::size_t size = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC0 || byte(0) > 0xF7 || text.size() < size) return damaged;
  char32_t point = byte(0) & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0u) != 0x80) return damaged;
    point = (point << 6u) | (byte(i) & 0x3Fu);
  }
  const bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < kLeast[size] || point > 0x10FFFF || is_surrogate ? damaged : Character{point, size, false};
}

}  // namespace opdump
