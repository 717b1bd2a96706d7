// Any bytes as a statistic.csv. What is accepted, written and read again must stay as it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/tables/statistic_csv.h"

namespace {

std::string encode(const opdump::format::StatisticCsv& csv) {
  std::string text = opdump::format::encode_statistic_header(csv.columns);
  for (const auto& row : csv.rows) opdump::format::append_statistic_row(text, row, csv.trailing_comma);
  return text;
}

// Fields that hold what no writer puts there: they were quoted, or the line ends in a carriage return.
bool is_plain(const std::string& text) { return text.find_first_of("\"\r") == std::string::npos; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (size % 2 == 0)  // most inputs should get past the header
    text.insert(
        0, "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,MD5\n");
  const auto csv = opdump::format::decode_statistic_csv(text);
  if (!csv) return 0;
  for (const auto& row : csv->rows)
    if (row.values.size() != csv->columns.size()) std::abort();
  if (!is_plain(text)) return 0;
  const std::string once = encode(*csv);
  const auto again = opdump::format::decode_statistic_csv(once);
  if (!again || again->rows.size() != csv->rows.size() || encode(*again) != once) std::abort();
  return 0;
}
