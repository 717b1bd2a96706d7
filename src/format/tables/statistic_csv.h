// statistic.csv, mindspore.md 3: a header without and rows with a trailing comma, only Shape quoted, numbers
// as C++ streams print them. Reads also the fixed 20- and 21-column files of releases before 2.3 (no trailing
// comma), and those of O2 since 2.6, which msprobe writes. Page: docs/formats/statistic_csv.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace opdump::format {

inline constexpr std::string_view kStatisticCsvName = "statistic.csv";

// The fields of a row in file order. Text, because the printed form is what readers compare. No field holds a
// comma, a quote or a line feed, but `shape`: "(2,3)".
struct StatisticCsvRow {
  std::string op_type, op_name, task_id, stream_id, timestamp, io, slot, data_bytes, dtype, shape;
  std::string format{};             // "ND"; empty where the table has no such column
  std::vector<std::string> values;  // one per statistic column
};

struct StatisticCsv {
  std::vector<std::string> columns;  // statistic columns: "Max Value", ...
  bool trailing_comma = true;        // in rows
  std::vector<StatisticCsvRow> rows;
  std::uint64_t damaged_rows = 0;  // torn or with a wrong number of fields; not in rows
};

// "Op Type,...,Shape,Max Value,Min Value\n"
std::string encode_statistic_header(std::span<const std::string> columns);

// Appends one row with its trailing comma and line feed.
void append_statistic_row(std::string& out, const StatisticCsvRow& row, bool trailing_comma = true);

// The first whole row shows whether rows end in a comma; a last line without line feed is torn. A header
// to which other tools added a trailing comma is accepted.
// Errors: corrupt -- the first line is not a statistic.csv header.
Result<StatisticCsv> decode_statistic_csv(std::string_view text);

// Reads tables of any size: hands each row to `take` and keeps none.
using TakeStatisticRow = std::function<void(std::span<const std::string> columns, StatisticCsvRow row)>;
Result<StatisticCsv> decode_statistic_csv(std::string_view text, const TakeStatisticRow& take);

}  // namespace opdump::format
