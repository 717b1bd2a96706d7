#include "result/database.h"

#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "base/file/file.h"

namespace opdump::result {
namespace {

constexpr int kLongestValue = 256 << 20;                      // bytes
constexpr sqlite3_int64 kMostMemory = std::int64_t{1} << 30;  // of a hostile file

Code code_of(int status) {
  switch (status & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Code::corrupt;
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return Code::limit;
    case SQLITE_ERROR:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
    case SQLITE_RANGE:
      return Code::usage;
    default:
      return Code::io;
  }
}

Error error_of(sqlite3* handle, int status) {
  const char* text = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(status);
  if ((status & 0xff) == SQLITE_AUTH || (status & 0xff) == SQLITE_READONLY)
    return {Code::usage, "only queries are possible: " + std::string(text)};
  return {code_of(status), text};
}

int allow_reading(void*, int action, const char*, const char*, const char*, const char*) {
  const bool reads = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
                     action == SQLITE_RECURSIVE;
  return reads ? SQLITE_OK : SQLITE_DENY;
}

int bind_value(sqlite3_stmt* statement, int place, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return sqlite3_bind_int64(statement, place, *integer);
  if (const auto* real = std::get_if<double>(&value)) return sqlite3_bind_double(statement, place, *real);
  if (const auto* text = std::get_if<std::string_view>(&value))
    return sqlite3_bind_text64(statement, place, text->data() != nullptr ? text->data() : "", text->size(),
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  if (const auto* blob = std::get_if<Blob>(&value))
    return sqlite3_bind_blob64(statement, place, blob->data(), blob->size(), SQLITE_TRANSIENT);
  return sqlite3_bind_null(statement, place);
}

}  // namespace

Value number(double value) {
  if (std::isnan(value)) return std::string_view("nan");
  return value;
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Result<bool> Statement::next() {
  const int status = sqlite3_step(statement_.get());
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  return error_of(sqlite3_db_handle(statement_.get()), status);
}

int Statement::column_count() const { return sqlite3_column_count(statement_.get()); }

std::string Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name != nullptr ? name : "";
}

Value Statement::value(int column) const {
  sqlite3_stmt* const statement = statement_.get();
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement, column));
      return Blob(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    default:
      return std::monostate();
  }
}

std::int64_t Statement::integer(int column) const {
  const Value found = value(column);
  const auto* integer = std::get_if<std::int64_t>(&found);
  return integer != nullptr ? *integer : 0;
}

double Statement::real(int column) const {
  const Value found = value(column);
  if (const auto* real = std::get_if<double>(&found)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&found)) return static_cast<double>(*integer);
  return std::numeric_limits<double>::quiet_NaN();
}

std::string_view Statement::text_view(int column) const {
  const Value found = value(column);
  const auto* text = std::get_if<std::string_view>(&found);
  return text != nullptr ? *text : std::string_view();
}

Result<> Statement::bind(std::span<const Value> values) {
  sqlite3_reset(statement_.get());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const int status = bind_value(statement_.get(), static_cast<int>(i) + 1, values[i]);
        status != SQLITE_OK)
      return error_of(sqlite3_db_handle(statement_.get()), status);
  return ok();
}

Result<> Statement::run(std::initializer_list<Value> values) {
  OPDUMP_CHECK_OK(bind(std::span(values.begin(), values.size())));
  OPDUMP_CHECK_OK(next());
  return ok();
}

Result<Database> Database::create(const std::string& path) {
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(
      path.c_str(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle);
  if (status != SQLITE_OK) return error_of(handle, status).within(path);
  OPDUMP_CHECK_OK(
      database.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA "
                       "cache_size = -65536"));
  return database;
}

Result<Database> Database::open(const std::string& path) {
  OPDUMP_CHECK_OK(open_input(path));  // a pipe or a directory is refused at once
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(
      path.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle);
  if (status != SQLITE_OK) return error_of(handle, status).within(path);
  sqlite3_hard_heap_limit64(kMostMemory);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  if (auto checked = database.execute("PRAGMA cell_size_check = ON"); !checked)
    return checked.take_error().within(path);
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* made = nullptr;
  const char* rest = nullptr;
  const int status =
      sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &made, &rest);
  Statement statement(made);
  if (status != SQLITE_OK) return error_of(handle_.get(), status);
  if (made == nullptr) return Error(Code::usage, "a statement of SQL is expected");
  const std::string_view behind(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
  if (behind.find_first_not_of(" \t\r\n;") != std::string_view::npos)
    return Error(Code::usage, "one statement of SQL is expected, not several");
  return statement;
}

Result<> Database::execute(const std::string& sql) {
  if (const int status = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
      status != SQLITE_OK)
    return error_of(handle_.get(), status);
  return ok();
}

void Database::allow_only_reading() { sqlite3_set_authorizer(handle_.get(), allow_reading, nullptr); }

Result<> Database::close() {
  sqlite3* const handle = handle_.release();
  if (const int status = sqlite3_close(handle); status != SQLITE_OK) {
    Error error = error_of(handle, status);
    sqlite3_close_v2(handle);
    return error;
  }
  return ok();
}

}  // namespace opdump::result
