// `opdump view`: the pages of a result, served to this machine's browser, with tensors read on demand.
#include <spawn.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/compare/make_result.h"
#include "cli/verb.h"
#include "result/page.h"
#include "serve/server.h"
#include "serve/tiles.h"
#include "terminal/output.h"

extern char** environ;

namespace opdump::cli {
namespace {

constexpr std::string_view kViewFooter =
    R"(Only this machine can connect, and only with the token in the address. Ctrl-C ends it.

Examples:
  opdump view golden actual
  opdump view run.opdump --port 8080 --no-browser
  opdump view golden)";

struct DumpPaths {
  std::string golden, actual;
};

Result<DumpPaths> dumps_of(result::Database& database) {
  DumpPaths paths;
  for (const auto& [key, path] : {std::pair("golden", &paths.golden), std::pair("actual", &paths.actual)}) {
    OPDUMP_TRY(result::Statement statement, database.prepare("SELECT value FROM result WHERE key = ?"));
    const result::Value name = std::string_view(key);
    OPDUMP_CHECK_OK(statement.bind(std::span(&name, 1)));
    OPDUMP_TRY(const bool found, statement.next());
    if (found) *path = statement.text(0);
  }
  return paths;
}

std::int64_t number_of(const serve::PageRequest& request, const std::string& key) {
  const auto found = request.query.find(key);
  return found == request.query.end() ? 0 : parse_int64(found->second).value_or(0);
}

std::string text_of(const serve::PageRequest& request, const std::string& key) {
  const auto found = request.query.find(key);
  return found == request.query.end() ? "" : found->second;
}

serve::TileRequest tile_request(const serve::PageRequest& request) {
  const auto natural = [&](const char* key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(request, key)));
  };
  return {.rank = number_of(request, "rank"),
          .step = number_of(request, "step"),
          .graph = number_of(request, "graph"),
          .golden_operator = text_of(request, "golden"),
          .actual_operator = text_of(request, "actual"),
          .slot = text_of(request, "slot"),
          .across = natural("across"),
          .row = natural("row"),
          .column = natural("column"),
          .rows = natural("rows"),
          .columns = natural("columns")};
}

void open_browser(const std::string& address) {
  const char* const words[] = {"xdg-open", address.c_str(), nullptr};
  pid_t pid = 0;
  // Where there is none, the address that is printed is enough.
  (void)::posix_spawnp(&pid, words[0], nullptr, nullptr, const_cast<char* const*>(words), environ);
}

}  // namespace

Result<int> run_view(std::span<const char* const> args) {
  CLI::App app("Shows a comparison, or one dump, in the browser.", "opdump view");
  ResultRequest request;
  int port = 0;
  bool no_browser = false;
  declare_result(app, request);
  app.add_option("--port", port, "The port on 127.0.0.1; default: any that is free")
      ->check(CLI::Range(0, 65535));
  app.add_flag("--no-browser", no_browser, "Only print the address");
  app.footer(std::string(kViewFooter));
  if (auto done = parse_arguments(app, args)) return *done;
  OPDUMP_TRY(const std::string page, result::served_page());
  OPDUMP_TRY(MadeResult made, make_result(request));
  OPDUMP_TRY(const std::string data, result::page_data(made.database, {}));
  OPDUMP_TRY(const std::string packed, result::deflate_text(data));
  OPDUMP_TRY(const DumpPaths paths, dumps_of(made.database));
  const Result<serve::TileSource> tiles = serve::TileSource::open(paths.golden, paths.actual);
  if (!tiles) terminal::print_error("warning: no elements can be shown: " + tiles.error().message());
  const auto answer = [&](const serve::PageRequest& asked) -> Result<serve::PageAnswer> {
    if (asked.path == "/") return serve::PageAnswer{"text/html; charset=utf-8", page};
    if (asked.path == "/api/data") return serve::PageAnswer{"application/json", packed, true};
    if (asked.path != "/api/tile") return Error(Code::not_found, "there is no page " + asked.path);
    if (!tiles) return tiles.error();
    OPDUMP_TRY(std::string tile, tiles->tile(tile_request(asked)));
    return serve::PageAnswer{"application/json", std::move(tile)};
  };
  const auto started = [&](const std::string& address) {
    terminal::print("serving " + address + "\n");
    (void)terminal::flush_output();  // a closed stdout is no reason to end
    if (!no_browser) open_browser(address);
  };
  OPDUMP_CHECK_OK(serve::serve_pages(port, answer, started));
  return 0;
}

}  // namespace opdump::cli
