// Any bytes as a result file: an error, or tables that queries, the overview, exports and a page can be made
// of.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "result/exports.h"
#include "result/overview.h"
#include "result/page.h"
#include "result/query.h"
#include "result/schema.h"

namespace {

using opdump::result::Database;

void look_at(Database& database) {
  const auto forget = [](std::string_view) { return opdump::ok(); };
  [[maybe_unused]] const auto trace = opdump::result::export_trace(database, forget);
  [[maybe_unused]] const auto graph = opdump::result::export_graph(database, "golden", forget);
  [[maybe_unused]] const auto data = opdump::result::export_node_data(database, "actual", forget);
  [[maybe_unused]] const auto page = opdump::result::page_data(database, {.operators = 50, .pictured = 5});
  auto overview = opdump::result::Overview::load(database);
  if (!overview) return;
  [[maybe_unused]] const auto first = opdump::result::first_data(database, *overview);
  [[maybe_unused]] const auto modules = overview->modules_json("Default");
  const auto rows = overview->rows(database, {.text = "conv", .sort = "-error", .tolerance = 1});
  if (rows) [[maybe_unused]]
    const auto json = overview->rows_json(database, *rows, 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // SQLite opens files by their real names, so memory without one will not do.
  static std::string path = std::filesystem::temp_directory_path() / "result_fuzz_XXXXXX";
  static const int file = ::mkstemp(path.data());
  [[maybe_unused]] static const int at_exit = std::atexit([] { ::unlink(path.c_str()); });
  if (file < 0 || ::ftruncate(file, 0) != 0) std::abort();
  if (::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  auto database = opdump::result::open_result(path);
  if (database)
    look_at(*database);
  else if (database.error().message().empty())
    std::abort();
  return 0;
}
