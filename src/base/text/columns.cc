#include "base/text/columns.h"

#include <algorithm>

namespace opdump {
namespace {

bool is_inside(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }  // of a character

// Where the character with this number begins.
std::size_t offset_of(std::string_view text, std::size_t character) {
  std::size_t at = 0;
  for (; at < text.size() && (character > 0 || is_inside(text[at])); ++at)
    if (!is_inside(text[at])) --character;
  return at;
}

}  // namespace

std::size_t display_columns(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_inside));
}

std::string shorten_middle(std::string_view text, std::size_t width) {
  const std::size_t columns = display_columns(text);
  if (columns <= width) return std::string(text);
  if (width < 4) return std::string(text.substr(0, offset_of(text, width)));
  const std::size_t head = (width - 2) / 3, tail = width - 2 - head;
  return std::string(text.substr(0, offset_of(text, head)))
      .append("..")
      .append(text.substr(offset_of(text, columns - tail)));
}

std::string wrap_words(std::string_view text, std::size_t width, std::size_t indent) {
  if (width == 0 || display_columns(text) <= width) return std::string(text);
  std::string lines;
  std::size_t used = 0;  // columns of the last line
  bool is_fresh = true;  // it has no word yet
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find_first_not_of(' ', at), text.size());
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    std::size_t spaces = begin - at;  // as there are, also before the first word
    if (!is_fresh && used + spaces + display_columns(word) > width) {
      lines += "\n";
      used = 0;
      spaces = indent;
    }
    lines.append(spaces, ' ').append(word);
    used += spaces + display_columns(word);
    is_fresh = false;
    at = end;
  }
  return lines;
}

}  // namespace opdump
