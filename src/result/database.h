// A file of SQLite, written by us in one go or read with distrust. Only database.cc knows the library;
// no_database.cc takes its place where SQLite is not installed: open and create then fail with one sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

struct sqlite3;  // of SQLite's own header
struct sqlite3_stmt;

namespace opdump::result {

using Blob = std::span<const std::byte>;
// NULL, INTEGER, REAL, TEXT, BLOB. Texts and blobs are borrowed.
using Value = std::variant<std::monostate, std::int64_t, double, std::string_view, Blob>;

// A number that may be no number: SQLite would turn NaN into NULL, so it is the text 'nan'. Infinities stay.
Value number(double value);

// A prepared statement. Must not outlive its database.
class Statement {
 public:
  // The next row, if there is one. Errors: corrupt, io, limit, usage.
  Result<bool> next();
  int column_count() const;
  std::string column_name(int column) const;
  // A value of the current row lives until the next call of next().
  Value value(int column) const;
  std::int64_t integer(int column) const;        // 0 for what is none
  double real(int column) const;                 // NaN for what is none
  std::string_view text_view(int column) const;  // "" for what is none
  std::string text(int column) const { return std::string(text_view(column)); }

  // Begins anew with these parameters.
  Result<> bind(std::span<const Value> values);
  // bind() and next() of a statement without rows.
  Result<> run(std::initializer_list<Value> values);

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Not for several threads at once.
class Database {
 public:
  // A new and empty one at `path`, which must not exist; one without a name that vanishes if `path` is empty.
  // Nothing is safe before close(): a crash leaves a broken file. Errors: io, unsupported (no SQLite).
  static Result<Database> create(const std::string& path);
  // An existing file, which cannot be changed and may be hostile: nothing in it runs as code, and
  // memory is limited. Errors: not_found, io, corrupt, unsupported.
  static Result<Database> open(const std::string& path);

  // Errors: usage -- a mistake in the SQL, or more than one statement; corrupt.
  Result<Statement> prepare(std::string_view sql);
  // From here on a statement that is prepared may only read tables: no PRAGMA, no ATTACH.
  void allow_only_reading();
  // Statements without results, separated by semicolons.
  Result<> execute(const std::string& sql);
  Result<> close();

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace opdump::result
