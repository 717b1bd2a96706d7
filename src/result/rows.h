// What readers of a result do with its tables.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "result/database.h"

namespace opdump::result {

// visit(statement) -> Result<> for each row of a query with these parameters. Errors: those of
// Database::prepare, Statement::next and visit.
template <typename Visit>
Result<> each_row(Database& database, std::string_view sql, std::initializer_list<Value> parameters,
                  const Visit& visit) {
  OPDUMP_TRY(Statement statement, database.prepare(sql));
  OPDUMP_CHECK_OK(statement.bind(std::span(parameters.begin(), parameters.size())));
  while (true) {
    OPDUMP_TRY(const bool found, statement.next());
    if (!found) return ok();
    OPDUMP_CHECK_OK(visit(statement));
  }
}

// The value of `key` in the table "result"; "" if it has none.
inline Result<std::string> find_value(Database& database, std::string_view key) {
  std::string value;
  OPDUMP_CHECK_OK(each_row(database, "SELECT value FROM result WHERE key = ?", {key},
                           [&](const Statement& row) -> Result<> { return value = row.text(0), ok(); }));
  return value;
}

}  // namespace opdump::result
