#include "base/text/natural_order.h"

#include <cstddef>

#include "base/text/text.h"

namespace opdump {
namespace {

// The digits that `text` begins with, without leading zeros.
std::string_view leading_number(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  text = text.substr(0, end);
  const std::size_t first = text.find_first_not_of('0');
  return first == std::string_view::npos ? text.substr(text.size()) : text.substr(first);
}

std::size_t count_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return count;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = leading_number(a.substr(i)), y = leading_number(b.substr(j));
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i += count_digits(a.substr(i));
      j += count_digits(b.substr(j));
      continue;
    }
    if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    ++i;
    ++j;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

}  // namespace opdump
