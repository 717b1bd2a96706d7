// `opdump view`: the pages of a result, served to this machine's browser, with tensors read on demand.
#include <spawn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/compare/make_result.h"
#include "cli/verb.h"
#include "result/overview.h"
#include "result/page.h"
#include "result/rows.h"
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
  OPDUMP_TRY(std::string golden, result::find_value(database, "golden"));
  OPDUMP_TRY(std::string actual, result::find_value(database, "actual"));
  return DumpPaths{std::move(golden), std::move(actual)};
}

std::int64_t number_of(const serve::PageRequest& request, const std::string& key) {
  const auto found = request.query.find(key);
  return found == request.query.end() ? 0 : parse_int64(found->second).value_or(0);
}

std::size_t natural_of(const serve::PageRequest& request, const std::string& key) {
  return static_cast<std::size_t>(std::max<std::int64_t>(0, number_of(request, key)));
}

std::string text_of(const serve::PageRequest& request, const std::string& key) {
  const auto found = request.query.find(key);
  return found == request.query.end() ? "" : found->second;
}

serve::TileRequest tile_request(const serve::PageRequest& request) {
  return {.rank = number_of(request, "rank"),
          .step = number_of(request, "step"),
          .graph = number_of(request, "graph"),
          .golden_operator = text_of(request, "golden"),
          .actual_operator = text_of(request, "actual"),
          .slot = text_of(request, "slot"),
          .across = natural_of(request, "across"),
          .row = natural_of(request, "row"),
          .column = natural_of(request, "column"),
          .rows = natural_of(request, "rows"),
          .columns = natural_of(request, "columns")};
}

// More operators than this are sent to the page as it asks for them.
constexpr std::int64_t kMostAtOnce = 10000;

// What the page asks of the result. May be called by several threads.
class Answers {
 public:
  static Result<Answers> prepare(result::Database& database) {
    Answers answers(database);
    OPDUMP_TRY(result::Statement count, database.prepare("SELECT count(*) FROM operators"));
    OPDUMP_CHECK_OK(count.next());
    std::string first;
    if (count.integer(0) > kMostAtOnce) {
      OPDUMP_TRY(answers.overview_, result::Overview::load(database));
      OPDUMP_TRY(first, result::first_data(database, *answers.overview_));
    } else {
      OPDUMP_TRY(first, result::page_data(database, {}));
    }
    OPDUMP_TRY(answers.first_, result::deflate_text(first));
    return answers;
  }

  Result<serve::PageAnswer> answer(const serve::PageRequest& asked) const {
    if (asked.path == "/api/data") return serve::PageAnswer{"application/json", first_, true};
    if (!overview_) return Error(Code::not_found, "there is no page " + asked.path);
    const std::lock_guard lock(*mutex_);
    if (asked.path == "/api/name")
      return serve::PageAnswer{"application/json", overview_->name_json(number_of(asked, "id"))};
    if (asked.path == "/api/modules")
      return serve::PageAnswer{"application/json", overview_->modules_json(text_of(asked, "within"))};
    if (asked.path == "/api/curve")
      return serve::PageAnswer{"application/json",
                               overview_->lines_json(natural_of(asked, "begin"), natural_of(asked, "end"))};
    std::string data;
    if (asked.path == "/api/operator") {
      OPDUMP_TRY(data, result::operator_data(database_, number_of(asked, "id")));
    } else if (asked.path == "/api/rows") {
      const result::RowRequest wanted = row_request(asked);
      OPDUMP_TRY(const result::Overview::Rows rows, overview_->rows(database_, wanted));
      OPDUMP_TRY(data, overview_->rows_json(database_, rows, wanted.tolerance));
    } else {
      return Error(Code::not_found, "there is no page " + asked.path);
    }
    return serve::PageAnswer{"application/json", std::move(data)};
  }

 private:
  explicit Answers(result::Database& database) : database_(database) {}

  static result::RowRequest row_request(const serve::PageRequest& asked) {
    return {.text = text_of(asked, "text"),
            .verdict = text_of(asked, "verdict"),
            .phase = text_of(asked, "phase"),
            .type = text_of(asked, "type"),
            .module = text_of(asked, "module"),
            .step = text_of(asked, "step"),
            .rank = text_of(asked, "rank"),
            .sort = text_of(asked, "sort"),
            .tolerance = std::clamp(std::strtod(text_of(asked, "tolerance").c_str(), nullptr), -30.0, 30.0),
            .offset = natural_of(asked, "offset"),
            .count = std::min(natural_of(asked, "count"), kMostRows)};
  }

  static constexpr std::size_t kMostRows = 5000;                        // of one answer
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  // of what follows
  result::Database& database_;
  mutable std::optional<result::Overview> overview_;
  std::string first_;
};

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
  OPDUMP_TRY(const std::string text, result::served_page());
  OPDUMP_TRY(const std::string page, result::deflate_text(text));
  OPDUMP_TRY(MadeResult made, make_result(request));
  OPDUMP_TRY(const DumpPaths paths, dumps_of(made.database));
  const Result<serve::TileSource> tiles = serve::TileSource::open(paths.golden, paths.actual);
  if (!tiles) terminal::print_error("warning: no elements can be shown: " + tiles.error().message());
  OPDUMP_TRY(const Answers answers, Answers::prepare(made.database));
  const auto answer = [&](const serve::PageRequest& asked) -> Result<serve::PageAnswer> {
    if (asked.path == "/") return serve::PageAnswer{"text/html; charset=utf-8", page, true};
    if (asked.path != "/api/tile") return answers.answer(asked);
    if (!tiles) return tiles.error();
    OPDUMP_TRY(std::string tile, tiles->tile(tile_request(asked)));
    return serve::PageAnswer{"application/octet-stream", std::move(tile)};
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
