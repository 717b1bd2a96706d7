#include "msaccucmp/python_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "base/text/text.h"
#include "base/text/utf8.h"

namespace opdump::msaccucmp {
namespace {

// The zeros of the decimal digits of Unicode 14, each followed by its one to nine.
constexpr char32_t kZeros[] = {
    0x30,    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,   0xc66,
    0xce6,   0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,  0x1810,  0x1946,
    0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,  0xa8d0,  0xa900,  0xa9d0,
    0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0,
    0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60,
    0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0};

std::optional<char> digit_of(const Character& character) {
  const char32_t point = character.point;
  const auto above = std::ranges::upper_bound(kZeros, point);
  if (character.is_damaged || above == std::begin(kZeros) || point - *std::prev(above) > 9)
    return std::nullopt;
  return static_cast<char>('0' + (point - *std::prev(above)));
}

bool is_wide_blank(const Character& character) {
  const char32_t point = character.point;
  return !character.is_damaged && (point == 0x85 || point == 0xA0 || point == 0x1680 || point == 0x3000 ||
                                   (point >= 0x2000 && point <= 0x200A) || point == 0x2028 ||
                                   point == 0x2029 || point == 0x202F || point == 0x205F);
}

// `text` with all digits and blanks as those of ASCII.
std::string in_ascii(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (const auto digit = digit_of(character))
      plain += *digit;
    else if (is_wide_blank(character))
      plain += ' ';
    else
      plain += text.substr(0, character.size);
    text.remove_prefix(character.size);
  }
  return plain;
}

void append_escaped(std::string& out, const Character& character) {
  const auto point = static_cast<unsigned>(character.point + (character.is_damaged ? 0xDC00 : 0));
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), point > 0xFF ? "\\u%04x" : "\\x%02x", point);
  out += text.data();
}

}  // namespace

std::string python_quoted(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string quoted(1, quote);
  while (!text.empty()) {
    const char c = text.front();
    const Character character = first_character(text);
    const char32_t point = character.point;
    if (c == '\\' || c == quote)
      quoted.append({'\\', c});
    else if (c == '\n' || c == '\t' || c == '\r')
      quoted.append(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
    else if (point < ' ' || (point >= 0x7F && point < 0xA0) || character.is_damaged ||
             is_wide_blank(character))
      append_escaped(quoted, character);
    else
      quoted += text.substr(0, character.size);
    text.remove_prefix(character.size);
  }
  return quoted + quote;
}

std::optional<std::string> python_int(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::string plain = in_ascii(text);
  const std::size_t first = plain.find_first_not_of(kBlanks);
  if (first == std::string::npos) return std::nullopt;
  std::string_view rest = plain;
  rest = rest.substr(first, rest.find_last_not_of(kBlanks) - first + 1);
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  std::string digits;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const bool is_between = i > 0 && i + 1 < rest.size() && is_digit(rest[i - 1]) && is_digit(rest[i + 1]);
    if (is_digit(rest[i]))
      digits += rest[i];
    else if (rest[i] != '_' || !is_between)
      return std::nullopt;
  }
  if (digits.empty()) return std::nullopt;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return (is_negative && digits != "0" ? "-" : "") + digits;
}

bool is_negative_number(std::string_view word) {
  const std::string plain = in_ascii(word);
  std::string_view digits = plain;
  if (!digits.starts_with('-')) return false;
  digits.remove_prefix(1);
  if (digits.ends_with('\n')) digits.remove_suffix(1);  // where "$" of a regular expression is, too
  const std::size_t dot = digits.find('.');
  if (dot == std::string_view::npos) return !digits.empty() && std::ranges::all_of(digits, is_digit);
  return dot + 1 < digits.size() && std::ranges::all_of(digits.substr(0, dot), is_digit) &&
         std::ranges::all_of(digits.substr(dot + 1), is_digit);
}

}  // namespace opdump::msaccucmp
