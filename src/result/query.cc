#include "result/query.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/names.h"

namespace opdump::result {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kAligned = 1000;  // rows whose cells decide how wide columns are

std::string real_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : format_g(value);
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  (void)error;  // the shortest form of a double has at most 24 characters
  return {buffer, end};
}

std::string hex_text(Blob bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<std::size_t>(byte >> 4)];
    text += kDigits[static_cast<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

struct CellText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return real_text(value); }
  std::string operator()(std::string_view value) const { return std::string(value); }
  std::string operator()(Blob value) const { return "x'" + hex_text(value) + "'"; }
};

struct QueryCellJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(double value) const { return std::isfinite(value) ? Json(value) : Json(real_text(value)); }
  Json operator()(std::string_view value) const { return value; }
  Json operator()(Blob value) const { return hex_text(value); }
};

std::string csv_field(std::string text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
  return quote(text);
}

using Cells = std::vector<std::string>;

Cells header_of(const Statement& statement) {
  Cells cells;
  for (int i = 0; i < statement.column_count(); ++i) cells.push_back(statement.column_name(i));
  return cells;
}

Cells cells_of(const Statement& statement) {
  Cells cells;
  for (int i = 0; i < statement.column_count(); ++i)
    cells.push_back(std::visit(CellText(), statement.value(i)));
  return cells;
}

std::string csv_line(const Cells& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + csv_field(cells[i]);
  return line + "\n";
}

// Rows are kept until it is known how wide the columns are.
class AlignedRows {
 public:
  explicit AlignedRows(const WriteText& write) : write_(write) {}
  void add(Cells cells) {
    for (std::string& cell : cells) cell = compare::one_line(std::move(cell));
    if (is_begun_) return write_line(cells);
    rows_.push_back(std::move(cells));
    if (rows_.size() > kAligned) begin();
  }
  void begin() {
    if (is_begun_) return;
    is_begun_ = true;
    for (const Cells& row : rows_) {
      widths_.resize(row.size());
      for (std::size_t c = 0; c < row.size(); ++c) widths_[c] = std::max(widths_[c], row[c].size());
    }
    for (const Cells& row : rows_) write_line(row);
    rows_.clear();
  }

 private:
  void write_line(const Cells& cells) const {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      line += (c > 0 ? "  " : "") + cells[c];
      if (cells[c].size() < widths_[c]) line.append(widths_[c] - cells[c].size(), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    write_(line + "\n");
  }
  const WriteText& write_;
  std::vector<Cells> rows_;
  std::vector<std::size_t> widths_;
  bool is_begun_ = false;
};

Result<> print_json_rows(Statement& statement, const WriteText& write) {
  const Cells names = header_of(statement);
  while (true) {
    OPDUMP_TRY(const bool found, statement.next());
    if (!found) return ok();
    Json record = Json::object();
    for (std::size_t i = 0; i < names.size(); ++i)
      record[names[i]] = std::visit(QueryCellJson(), statement.value(static_cast<int>(i)));
    write(json_text(record) + "\n");
  }
}

}  // namespace

Result<> print_query(Database& database, const std::string& sql, QueryFormat format, const WriteText& write) {
  OPDUMP_TRY(Statement statement, database.prepare(sql));
  if (format == QueryFormat::json) return print_json_rows(statement, write);
  AlignedRows rows(write);
  if (format == QueryFormat::csv)
    write(csv_line(header_of(statement)));
  else
    rows.add(header_of(statement));
  while (true) {
    OPDUMP_TRY(const bool found, statement.next());
    if (!found) break;
    if (format == QueryFormat::csv)
      write(csv_line(cells_of(statement)));
    else
      rows.add(cells_of(statement));
  }
  rows.begin();
  return ok();
}

}  // namespace opdump::result
