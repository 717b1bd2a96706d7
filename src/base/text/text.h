// Small pure functions on text that more than one folder needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace opdump {

// `text` without leading and trailing blanks (space, tab, CR, LF).
std::string_view trim(std::string_view text);

// The pieces between separators; "" gives one empty piece, "a||b" gives three.
std::vector<std::string_view> split(std::string_view text, char separator);

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// At least one digit, and nothing else.
inline bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The text between quotation marks.
inline std::string quote(std::string_view text) { return "\"" + std::string(text) + "\""; }

// ASCII lower case; other bytes unchanged.
std::string to_lower(std::string_view text);

// A decimal integer that fills all of `text`, or nothing (sign only where T has one; no blanks; overflow).
std::optional<std::int64_t> parse_int64(std::string_view text);
std::optional<std::uint64_t> parse_uint64(std::string_view text);

// A number as C++ streams print a double by default: printf %g with six significant digits; "inf", "-inf",
// "nan", and "-nan" when the sign bit is set. Dumps of the original print exactly this (mindspore.md 3.2).
std::string format_g(double value);

// Appends format_g(value) to `out` without allocating.
void append_g(std::string& out, double value);

// A number as Python's "%.6f" prints it, with `decimals` places (at most 20): never an exponent; "nan",
// "inf",
// "-inf".
std::string format_fixed(double value, int decimals);

// The candidate with the smallest edit distance to `word`, if it is near enough to be a typo
// (at most a third of the longer word, and at most 3 edits); nothing otherwise.
std::optional<std::string_view> find_nearest(std::string_view word,
                                             std::span<const std::string_view> candidates);

// Up to `count` candidates that look like `word`, the likest first: they begin alike, or at least half of the
// characters are the same. For "nearest: ..." where any hint is better than none.
std::vector<std::string_view> find_similar(std::string_view word,
                                           std::span<const std::string_view> candidates, std::size_t count);

// "a, b or c".
std::string join_or(std::span<const std::string_view> words);

// "1 operator", "2 operators": a count and what is counted, a noun whose plural ends in s.
std::string counted(std::uint64_t count, std::string_view noun);

// The same with a verb, which is given in its plural: "1 operator is", "2 operators are"; "1 pair differs",
// "2 pairs differ".
std::string counted(std::uint64_t count, std::string_view noun, std::string_view verb);

// `one` of 1, else `many`: "is", "are"; "step ", "steps ".
constexpr const char* inflect(std::uint64_t count, const char* one, const char* many) {
  return count == 1 ? one : many;
}

// "640", "512K", "2G", "1.5GiB": a size as people write it, units of 1024, or nothing.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// "1.5 GiB", "640 B": a size for people.
std::string format_bytes(std::uint64_t bytes);

}  // namespace opdump
