#include "msaccucmp/write/result_csv.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/text/text.h"

namespace opdump::msaccucmp {
namespace {

constexpr std::string_view kFormulaStarts[] = {"=", "+", "-", "%", "@", "\uFF1D", "\uFF0B", "\uFF0D"};

constexpr std::string_view kFirstBytes = "=+-%@\xEF";  // of these: most cells begin otherwise

bool is_number(const std::string& cell) {
  const std::string text(trim(cell));
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

bool begins_formula(std::string_view text) {
  if (text.empty() || kFirstBytes.find(text[0]) == std::string_view::npos) return false;
  return std::ranges::any_of(kFormulaStarts, [&](std::string_view start) { return text.starts_with(start); });
}

bool is_formula(const std::string& cell) {
  bool found = begins_formula(cell);
  for (std::size_t at = cell.find(';'); !found && at != std::string::npos; at = cell.find(';', at + 1))
    found = begins_formula(std::string_view(cell).substr(at + 1));
  return found && !is_number(cell);
}

}  // namespace

std::string csv_line(const Row& row) {
  constexpr std::size_t kUsualLength = 400;
  std::string line;
  line.reserve(kUsualLength);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += ',';
    if (std::ranges::none_of(row[i], [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; })) {
      line += row[i];
      continue;
    }
    line += '"';
    for (const char c : row[i]) {
      if (c == '"') line += '"';
      line += c;
    }
    line += '"';
  }
  line += "\r\n";
  return line;
}

std::optional<std::string> find_formula(const Row& row) {
  for (const std::string& cell : row)
    if (is_formula(cell)) return cell;
  return std::nullopt;
}

}  // namespace opdump::msaccucmp
