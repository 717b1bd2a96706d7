#include "cli/compare/rows_option.h"

#include <utility>

#include "compare/pairs/rows/common_rows.h"

namespace opdump::cli {

void add_rows_option(CLI::App& app, std::string& rows) {
  app.add_option(
      "--rows", rows,
      "Batches of other rows are compared in those that both have. auto: that is meant; none: never; "
      "GOLDEN=ACTUAL,...: in these");
}

Result<> use_rows(const std::string& rows, compare::CompareOptions& options) {
  if (rows.empty()) return ok();
  if (rows == "auto" || rows == "none") {
    options.finds_rows = rows == "auto";
    return ok();
  }
  auto wanted = compare::parse_rows(rows);
  if (!wanted) return wanted.take_error().within("--rows");
  options.rows = std::move(*wanted);
  return ok();
}

}  // namespace opdump::cli
