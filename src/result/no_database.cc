// This file replaces database.cc where SQLite was not found when opdump was built.
#include "result/database.h"

namespace opdump::result {
namespace {

Error missing() {
  return {
      Code::unsupported,
      "this opdump was built without SQLite, which keeps results: install libsqlite3-dev and build again"};
}

}  // namespace

Value number(double value) { return value; }
void Statement::Finalize::operator()(sqlite3_stmt*) const {}
void Database::Close::operator()(sqlite3*) const {}
Result<bool> Statement::next() { return missing(); }
int Statement::column_count() const { return 0; }
std::string Statement::column_name(int) const { return {}; }
Value Statement::value(int) const { return {}; }
std::int64_t Statement::integer(int) const { return 0; }
double Statement::real(int) const { return 0; }
std::string Statement::text(int) const { return {}; }
Result<> Statement::bind(std::span<const Value>) { return missing(); }
Result<> Statement::run(std::initializer_list<Value>) { return missing(); }
Result<Database> Database::create(const std::string&) { return missing(); }
Result<Database> Database::open(const std::string&) { return missing(); }
Result<Statement> Database::prepare(std::string_view) { return missing(); }
Result<> Database::execute(const std::string&) { return missing(); }
void Database::allow_only_reading() {}
Result<> Database::close() { return missing(); }

}  // namespace opdump::result
