// `opdump export RESULT --to perfetto`: a result for viewers that people have.
#include "result/exports.h"

#include <optional>
#include <string>
#include <utility>

#include "base/file/file_replacement.h"
#include "cli/arguments.h"
#include "cli/compare/make_result.h"
#include "cli/verb.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kExportFooter =
    R"(perfetto: for https://ui.perfetto.dev and chrome://tracing. Operators in the order of execution, one
microsecond each; the error divided by the tolerance is a counter.
model-explorer: the graph, for Model Explorer. model-explorer-data: the errors of its nodes, to be added there.

Examples:
  opdump export run.opdump --to perfetto -o trace.json
  opdump export golden actual --to model-explorer -o graph.json
  opdump export golden actual --to model-explorer-data -o errors.json)";

}  // namespace

Result<int> run_export(std::span<const char* const> args) {
  CLI::App app("Writes a comparison, or what is in one dump, for other viewers.", "opdump export");
  ResultRequest request;
  std::string to, output, side = "golden";
  declare_result(app, request);
  app.add_option("--to", to, "perfetto, model-explorer or model-explorer-data")
      ->required()
      ->check(CLI::IsMember({"perfetto", "model-explorer", "model-explorer-data"}));
  app.add_option("-o,--output", output, "The file to write")->required();
  app.add_option("--side", side, "The dump whose graph is written: golden (default) or actual")
      ->check(CLI::IsMember({"golden", "actual"}));
  app.footer(std::string(kExportFooter));
  if (auto done = parse_arguments(app, args)) return *done;
  OPDUMP_TRY(MadeResult made, make_result(request));
  OPDUMP_TRY(std::optional<FileReplacement> file, FileReplacement::begin_named(output, 0644));
  const auto write = [&](std::string_view text) { return file->append(text); };
  auto written = to == "perfetto"         ? result::export_trace(made.database, write)
                 : to == "model-explorer" ? result::export_graph(made.database, side, write)
                                          : result::export_node_data(made.database, side, write);
  OPDUMP_CHECK_OK(std::move(written));
  OPDUMP_CHECK_OK(file->finish());
  return 0;
}

}  // namespace opdump::cli
