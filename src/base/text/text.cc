#include "base/text/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace opdump {
namespace {

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string_view::npos; begin = end + 1)
    pieces.push_back(text.substr(begin, end - begin));
  pieces.push_back(text.substr(begin));
  return pieces;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::optional<std::int64_t> parse_int64(std::string_view text) { return parse_number<std::int64_t>(text); }
std::optional<std::uint64_t> parse_uint64(std::string_view text) { return parse_number<std::uint64_t>(text); }

void append_g(std::string& out, double value) {
  if (std::isnan(value)) {  // to_chars prints "-nan(ind)" for the hardware's default NaN
    out.append(std::signbit(value) ? "-nan" : "nan");
    return;
  }
  std::array<char, 32> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 6);
  (void)error;  // six digits always fit in 32 characters
  out.append(buffer.data(), end);
}

std::string format_g(double value) {
  std::string text;
  append_g(text, value);
  return text;
}

std::string format_fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  std::array<char, 352> buffer;  // 309 digits before the point
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, std::min(decimals, 20))
                       .ptr;
  return {buffer.data(), end};
}

std::optional<std::string_view> find_nearest(std::string_view word,
                                             std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = 4;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(to_lower(word), to_lower(candidate));
    if (distance < best_distance && distance * 3 <= std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::vector<std::string_view> find_similar(std::string_view word,
                                           std::span<const std::string_view> candidates, std::size_t count) {
  constexpr std::size_t kAlike = 3;  // so many characters at the beginning are no accident
  std::vector<std::pair<std::int64_t, std::string_view>> similar;  // with its score: less is more alike
  const std::string lower = to_lower(word);
  for (const std::string_view candidate : candidates) {
    const std::string other = to_lower(candidate);
    const std::size_t distance = edit_distance(lower, other);
    const auto prefix = static_cast<std::size_t>(std::ranges::mismatch(lower, other).in1 - lower.begin());
    if (prefix >= kAlike || distance * 2 <= std::max(lower.size(), other.size()))
      similar.emplace_back(static_cast<std::int64_t>(distance) - 2 * static_cast<std::int64_t>(prefix),
                           candidate);
  }
  std::sort(similar.begin(), similar.end());
  std::vector<std::string_view> result;
  for (const auto& [score, text] : similar)
    if (result.size() < count && (result.empty() || result.back() != text)) result.push_back(text);
  return result;
}

std::string join_or(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text.append(i + 1 == words.size() ? " or " : ", ");
    text.append(words[i]);
  }
  return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

std::string counted(std::uint64_t count, std::string_view noun, std::string_view verb) {
  std::string text = counted(count, noun).append(" ");
  if (count != 1) return text.append(verb);
  return verb == "are" ? text.append("is") : text.append(verb).append("s");
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  const std::string unit = to_lower(trim(text.substr(static_cast<std::size_t>(end - text.data()))));
  constexpr std::string_view kUnits = "kmgt";
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    const std::size_t power = kUnits.find(unit[0]);
    if (power == std::string_view::npos ||
        (unit.size() > 1 && unit.substr(1) != "b" && unit.substr(1) != "ib"))
      return std::nullopt;
    for (std::size_t i = 0; i <= power; ++i) factor *= 1024;
  }
  if (number * factor >= 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(number * factor);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return buffer.data();
}

}  // namespace opdump
