// Any text as the table of an operator's statistics: an error, or rows that name a side, an index and
// columns.
#include <cstdlib>
#include <string_view>

#include "format/tables/op_statistic_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump::format;
  const auto csv = decode_op_statistic_csv({reinterpret_cast<const char*>(data), size});
  if (!csv) return csv.error().message().empty() ? std::abort(), 0 : 0;
  for (const OpStatisticRow& row : csv->rows)
    for (const auto& [column, value] : row.values)
      if (value.empty() || value.find('\n') != std::string::npos) std::abort();
  return 0;
}
