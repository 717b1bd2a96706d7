// `opdump query RUN.opdump SQL`: any question about a result.
#include "result/query.h"

#include <string>

#include "cli/arguments.h"
#include "cli/verb.h"
#include "result/schema.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kQueryFooter =
    R"(The tables are those of docs/formats/result.md; --tables lists them. Nothing can be changed.

Examples:
  opdump compare golden actual --save run.opdump
  opdump query run.opdump "SELECT verdict, count(*) FROM operators GROUP BY verdict"
  opdump query run.opdump "SELECT name, max_abs FROM slots JOIN pairs ON slot = id ORDER BY max_abs DESC LIMIT 5" --csv)";

}  // namespace

Result<int> run_query(std::span<const char* const> args) {
  CLI::App app("Runs an SQL query on a result that `opdump compare --save` has written.", "opdump query");
  std::string path, sql;
  bool csv = false, json = false, tables = false;
  app.add_option("RESULT", path, "A file that opdump compare --save has written")->required();
  CLI::Option* const question = app.add_option("SQL", sql, "One SELECT");
  CLI::Option* const as_csv = app.add_flag("--csv", csv, "Print CSV with a header");
  app.add_flag("--json", json, "Print one JSON object for each row")->excludes(as_csv);
  app.add_flag("--tables", tables, "List the tables and their columns")->excludes(question);
  app.footer(std::string(kQueryFooter));
  if (auto done = parse_arguments(app, args)) return *done;
  if (sql.empty() && !tables) return Error(Code::usage, "SQL is required; see opdump query --help");
  OPDUMP_TRY(result::Database database, result::open_result(path));
  if (tables) {
    for (const result::TableSchema& table : result::kTables)
      terminal::print(std::string(table.name) + "(" + std::string(table.columns) + ")\n");
    return 0;
  }
  const result::QueryFormat format = csv    ? result::QueryFormat::csv
                                     : json ? result::QueryFormat::json
                                            : result::QueryFormat::table;
  const auto write = [&](std::string_view text) {
    json ? terminal::print_json(text) : terminal::print(text);
  };
  if (auto printed = result::print_query(database, sql, format, write); !printed)
    return printed.take_error().within(path);
  return 0;
}

}  // namespace opdump::cli
