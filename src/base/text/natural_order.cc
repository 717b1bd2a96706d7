#include "base/text/natural_order.h"

#include <algorithm>
#include <cstddef>

#include "base/text/text.h"

namespace opdump {
namespace {

// The digits that `text` begins with.
std::string_view leading_digits(std::string_view text) {
  return text.substr(0, text.find_first_not_of("0123456789"));
}

std::string_view without_zeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view digits_a = leading_digits(a.substr(i)), digits_b = leading_digits(b.substr(j));
      const std::string_view x = without_zeros(digits_a), y = without_zeros(digits_b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i += digits_a.size();
      j += digits_b.size();
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
