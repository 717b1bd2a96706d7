#include "msaccucmp/write/element_lines.h"

#include <algorithm>
#include <cmath>

#include "base/text/text.h"

namespace opdump::msaccucmp {
namespace {

constexpr int kDecimals = 6;

std::string place_text(std::uint64_t index, const model::Shape& shape) {
  std::vector<std::string> parts(shape.rank());
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const auto dim = static_cast<std::uint64_t>(std::max<std::int64_t>(shape[axis], 1));
    parts[axis] = std::to_string(index % dim);
    index /= dim;
  }
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : " ").append(part);
  return text;
}

std::string value_text(double value, bool is_bool) {
  if (is_bool) return value != 0 ? "True" : "False";
  return format_fixed(value, kDecimals);
}

}  // namespace

void dash_out(std::string& text, std::string_view what) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.replace(at, what.size(), "-");
}

std::string element_header(const std::string& axes) {
  return "Index," + axes + ",NPUDump,GroundTruth,AbsoluteError,RelativeError\n";
}

void append_element(std::string& out, std::uint64_t index, const model::Shape& shape,
                    const ElementError& error, bool are_bool) {
  out.append(std::to_string(index)).append(",").append(place_text(index, shape)).append(",");
  out.append(value_text(error.mine, are_bool)).append("\t,").append(value_text(error.golden, are_bool));
  out.append("\t,").append(are_bool ? "-" : format_fixed(error.absolute, kDecimals)).append("\t,");
  if (are_bool || std::isnan(error.relative))
    out.append("-\n");
  else
    out.append(format_fixed(error.relative, kDecimals)).append("\t\n");
}

std::string top_line(std::uint64_t index, const model::Shape& shape, const ElementError& error,
                     bool are_bool) {
  std::string line = std::to_string(index) + "," + place_text(index, shape) + "," +
                     value_text(error.mine, are_bool) + "\t," + value_text(error.golden, are_bool) + "\t," +
                     format_fixed(error.absolute, kDecimals) + "\t," +
                     format_fixed(error.relative, kDecimals) + "\t\n";
  dash_out(line, "nan");
  dash_out(line, "inf");
  return line;
}

std::string aligned_table(const std::string& header, const std::vector<std::string>& lines) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> widths;
  const auto add = [&](const std::string& line) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const std::string_view cell : split(line, ',')) {
      row.emplace_back(trim(cell));
      if (widths.size() < row.size()) widths.push_back(0);
      widths[row.size() - 1] = std::max(widths[row.size() - 1], row.back().size());
    }
  };
  add(header);
  for (const std::string& line : lines) add(line);
  std::string text;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      text.append(row[i]).append(widths[i] - row[i].size(), ' ').append(i + 1 < row.size() ? "\t" : "\n");
  return text;
}

}  // namespace opdump::msaccucmp
