#include "format/tables/statistic_csv.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace opdump::format {
namespace {

constexpr std::string_view kFixedHeader =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape";

// The fixed fields in file order: the one list that writing and reading share.
constexpr std::string StatisticCsvRow::*kFixedFields[] = {
    &StatisticCsvRow::op_type,   &StatisticCsvRow::op_name,    &StatisticCsvRow::task_id,
    &StatisticCsvRow::stream_id, &StatisticCsvRow::timestamp,  &StatisticCsvRow::io,
    &StatisticCsvRow::slot,      &StatisticCsvRow::data_bytes, &StatisticCsvRow::dtype,
    &StatisticCsvRow::shape};
constexpr std::size_t kFixedCount = std::size(kFixedFields);
constexpr std::string_view kInputOutput = "Input/Output";

// Where the fixed fields of a table stand. Since 2.6 msprobe writes the tables of O2, with the columns that
// CANN has: "Input/Output" for "IO", and "Format" before "Shape".
struct ColumnLayout {
  std::vector<std::string StatisticCsvRow::*> fields;

  // Nothing if `header` does not begin with the fixed columns.
  static std::optional<ColumnLayout> of(std::span<const std::string_view> header) {
    ColumnLayout layout{{std::begin(kFixedFields), std::end(kFixedFields)}};
    std::vector<std::string> names;
    for (const std::string_view name : header) names.emplace_back(name == kInputOutput ? "IO" : name);
    if (names.size() > kFixedCount && names[kFixedCount - 1] == "Format") {
      names.erase(names.begin() + kFixedCount - 1);
      layout.fields.insert(layout.fields.end() - 1, &StatisticCsvRow::format);
    }
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kFixedCount); ++i)
      text.append(i == 0 ? "" : ",").append(names[i]);
    return text == kFixedHeader ? std::optional(std::move(layout)) : std::nullopt;
  }
};

// The fields of `line` in `fields`, quotes removed; false if a quoted field does not end at a comma.
bool split_fields(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (;;) {
    if (line.starts_with('"')) {
      const std::size_t quote = line.find('"', 1);
      if (quote == std::string_view::npos) return false;
      fields.push_back(line.substr(1, quote - 1));
      line.remove_prefix(quote + 1);
      if (!line.empty() && line[0] != ',') return false;
    } else if (const std::size_t close = line.find(')'); line.starts_with('(') && close != line.npos) {
      fields.push_back(line.substr(0, close + 1));  // a shape without quotes
      line.remove_prefix(close + 1);
      if (!line.empty() && line[0] != ',') return false;
    } else {
      const std::size_t comma = std::min(line.find(','), line.size());
      fields.push_back(line.substr(0, comma));
      line.remove_prefix(comma);
    }
    if (line.empty()) return true;
    line.remove_prefix(1);
  }
}

StatisticCsvRow make_row(const ColumnLayout& layout, std::span<const std::string_view> fields) {
  StatisticCsvRow row;
  for (std::size_t i = 0; i < layout.fields.size(); ++i) row.*layout.fields[i] = fields[i];
  row.values.assign(fields.begin() + static_cast<std::ptrdiff_t>(layout.fields.size()), fields.end());
  return row;
}

// Cuts the first line off `text`; nothing if it has no line feed.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::string encode_statistic_header(std::span<const std::string> columns) {
  std::string text(kFixedHeader);
  for (const std::string& column : columns) text.append(",").append(column);
  return text += '\n';
}

void append_statistic_row(std::string& out, const StatisticCsvRow& row, bool trailing_comma) {
  for (const auto field : kFixedFields) {
    if (field == &StatisticCsvRow::shape)
      out.append("\"").append(row.shape).append("\",");
    else
      out.append(row.*field).append(",");
  }
  for (const std::string& value : row.values) out.append(value).append(",");
  if (!trailing_comma) out.pop_back();
  out += '\n';
}

Result<StatisticCsv> decode_statistic_csv(std::string_view text) {
  std::vector<StatisticCsvRow> rows;
  OPDUMP_TRY(StatisticCsv csv,
             decode_statistic_csv(text, [&](std::span<const std::string>, StatisticCsvRow row) {
               rows.push_back(std::move(row));
             }));
  csv.rows = std::move(rows);
  return csv;
}

Result<StatisticCsv> decode_statistic_csv(std::string_view text, const TakeStatisticRow& take) {
  const auto header = take_line(text);
  std::vector<std::string_view> fields;
  if (header && !split_fields(*header, fields))
    return Error(Code::corrupt, "line 1: quoted field without end");
  const std::optional<ColumnLayout> layout = header ? ColumnLayout::of(fields) : std::nullopt;
  if (!layout)
    return Error(Code::corrupt, "line 1: expected the header \"Op Type,Op Name,...,Shape\" and a line feed");
  const std::size_t fixed = layout->fields.size();
  StatisticCsv csv;
  csv.columns.assign(fields.begin() + static_cast<std::ptrdiff_t>(fixed), fields.end());
  if (!csv.columns.empty() && csv.columns.back().empty()) csv.columns.pop_back();
  if (std::ranges::find(csv.columns, "") != csv.columns.end())
    return Error(Code::corrupt, "line 1: a column without a name");

  const std::size_t count = fixed + csv.columns.size();
  for (bool is_first = true; !text.empty();) {
    const auto line = take_line(text);
    if (!line) {  // the writer was killed in the middle of a row
      ++csv.damaged_rows;
      break;
    }
    if (line->empty()) continue;
    const bool split = split_fields(*line, fields);
    const bool ends_in_comma = split && fields.size() == count + 1 && fields.back().empty();
    if (is_first) csv.trailing_comma = ends_in_comma;
    if (!split || ends_in_comma != csv.trailing_comma || fields.size() != count + (ends_in_comma ? 1 : 0)) {
      ++csv.damaged_rows;
      continue;
    }
    is_first = false;
    take(csv.columns, make_row(*layout, std::span(fields).first(count)));
  }
  return csv;
}

}  // namespace opdump::format
