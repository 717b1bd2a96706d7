#include "result/schema.h"

#include <filesystem>
#include <string>

#include "base/file/file.h"

namespace opdump::result {
namespace {

constexpr std::string_view kIndexes = R"(
CREATE INDEX slots_operator ON slots(operator);
CREATE INDEX operators_name ON operators(name);
CREATE INDEX quantiles_slot ON quantiles(slot);
CREATE INDEX worst_slot ON worst(slot);
CREATE INDEX thumbnails_slot ON thumbnails(slot);
CREATE INDEX statistics_slot ON statistics(slot);
CREATE INDEX statistics_dead ON statistics(dead_units) WHERE dead_units > 0;
CREATE INDEX statistics_full ON statistics(fullness) WHERE fullness > 0.5;
CREATE INDEX edges_consumer ON edges(consumer);
CREATE INDEX edges_producer ON edges(producer);
CREATE INDEX arguments_operator ON arguments(operator);
)";
constexpr std::string_view kMagic = "SQLite format 3";

std::string create_table(const TableSchema& table) {
  return "CREATE TABLE " + std::string(table.name) + "(" + std::string(table.columns) + ")";
}

Result<std::int64_t> read_number(Database& database, std::string_view sql) {
  OPDUMP_TRY(Statement statement, database.prepare(sql));
  OPDUMP_TRY(const bool found, statement.next());
  return found ? statement.integer(0) : 0;
}

// A view or a virtual table by the name of one of ours could be anything.
Result<> check_tables(Database& database) {
  OPDUMP_TRY(Statement tables, database.prepare("SELECT type, sql FROM sqlite_schema WHERE name = ?"));
  for (const TableSchema& table : kTables) {
    const Value name = table.name;
    OPDUMP_CHECK_OK(tables.bind(std::span(&name, 1)));
    OPDUMP_TRY(const bool found, tables.next());
    if (!found || tables.text(0) != "table" || tables.text(1) != create_table(table))
      return Error(Code::corrupt,
                   "the table " + std::string(table.name) + " is missing or has other columns than expected");
  }
  return ok();
}

}  // namespace

Result<> create_tables(Database& database) {
  for (const TableSchema& table : kTables) OPDUMP_CHECK_OK(database.execute(create_table(table)));
  return database.execute("PRAGMA application_id = " + std::to_string(kApplicationId) +
                          "; PRAGMA user_version = " + std::to_string(kSchemaVersion));
}

Result<> create_indexes(Database& database) { return database.execute(std::string(kIndexes)); }

Result<Database> open_result(const std::string& path) {
  OPDUMP_TRY(Database database, Database::open(path));
  const auto check = [&]() -> Result<> {
    OPDUMP_TRY(const std::int64_t id, read_number(database, "PRAGMA application_id"));
    if (id != kApplicationId) return Error(Code::corrupt, "not a result of opdump compare --save");
    OPDUMP_TRY(const std::int64_t version, read_number(database, "PRAGMA user_version"));
    if (version != kSchemaVersion)
      return Error(Code::unsupported, "the result has version " + std::to_string(version) + "; known is " +
                                          std::to_string(kSchemaVersion));
    return check_tables(database);
  };
  if (auto checked = check(); !checked) return checked.take_error().within(path);
  database.allow_only_reading();
  return database;
}

bool looks_like_result(const std::string& path) {
  const auto input = open_input(path);
  if (!input || input->size < 512) return false;
  const auto file = MappedFile::open_part(path, 0, 512);
  if (!file) return false;
  return std::string_view(reinterpret_cast<const char*>(file->bytes().data()), kMagic.size()) == kMagic;
}

}  // namespace opdump::result
