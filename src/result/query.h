// The answer to a query as text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "result/database.h"

namespace opdump::result {

enum class QueryFormat : std::uint8_t { table, csv, json };

using WriteText = std::function<void(std::string_view text)>;

// Prepares and runs `sql`. A table has columns as wide as their longest cell of the first thousand rows; CSV
// is that of RFC 4180 with a header and line feeds; JSON is one object for each row, with infinities as
// texts. Blobs are "x'00ff'" in tables and CSV, and base 16 in JSON. Errors: those of the database.
Result<> print_query(Database& database, const std::string& sql, QueryFormat format, const WriteText& write);

}  // namespace opdump::result
