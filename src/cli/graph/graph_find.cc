// `opdump graph find DIRECTORY`: the graph of a dump among all that were built.
#include <filesystem>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/graph/graph.h"
#include "cli/slot_facts.h"
#include "dump/read/ge_graph_find.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

struct FindArguments {
  std::string directory, dump, op;
  bool json = false;
};

void declare(CLI::App& app, FindArguments& arguments) {
  app.add_option("DIRECTORY", arguments.directory,
                 "The directory of ge_proto_*_Build.txt, searched recursively")
      ->required();
  app.add_option("DUMP", arguments.dump, "The dump of the run; default: DIRECTORY");
  app.add_option("--op", arguments.op, "Only graphs that contain this operator");
  app.add_flag("--json", arguments.json, "Print one JSON record");
  app.footer(
      "Examples:\n"
      "  opdump graph find .\n"
      "  opdump graph find graphs dump/20201209083353 --op fp32_vars/conv2d/Conv2D");
}

Error none_chosen(const dump::GeGraphSearch& search, const FindArguments& arguments) {
  if (search.candidates.empty())
    return {Code::not_found,
            arguments.directory +
                ": there is no ge_proto_*_Build.txt; run the program with DUMP_GE_GRAPH=2 to write them"};
  std::string message =
      arguments.directory + ": none of " + std::to_string(search.candidates.size()) + " graphs ";
  message += arguments.op.empty()
                 ? "has the word Iterator, a training part or an operator of type Data; choose one with --op"
                 : "holds the operator " + arguments.op;
  return {Code::not_found, message};
}

Json to_json(const dump::GeGraphSearch& search, const std::vector<std::filesystem::path>& dumps) {
  const dump::GeGraphCandidate& chosen = search.candidates[*search.chosen];
  Json record{{"schema_version", 1}, {"record", "graph"}, {"file", chosen.path.string()}};
  record["name"] = chosen.graph_name;
  record["because"] = search.reason;
  record["dumps"] = Json::array();
  for (const std::filesystem::path& dump : dumps) record["dumps"].push_back(dump.string());
  record["candidates"] = Json::array();
  for (const dump::GeGraphCandidate& candidate : search.candidates)
    record["candidates"].push_back({{"file", candidate.path.string()},
                                    {"name", candidate.graph_name},
                                    {"operators", candidate.operator_count}});
  return record;
}

}  // namespace

Result<int> run_graph_find(std::span<const char* const> args) {
  FindArguments arguments;
  CLI::App app("Finds the graph of a dump, and the directory of the dump with the graph's data.",
               "opdump graph find");
  declare(app, arguments);
  if (auto done = parse_arguments(app, args)) return std::move(*done);

  OPDUMP_TRY(const dump::GeGraphSearch search, dump::find_ge_graph(arguments.directory, arguments.op));
  for (const dump::Problem& problem : search.problems)
    terminal::print_error(problem.path.string() + ":" + problem.what);
  if (!search.chosen) return none_chosen(search, arguments);
  const dump::GeGraphCandidate& chosen = search.candidates[*search.chosen];
  const std::string& where = arguments.dump.empty() ? arguments.directory : arguments.dump;
  const auto dumps = dump::find_model_directories(where, chosen);
  if (arguments.json) {
    terminal::print_json(json_line(to_json(search, dumps)));
  } else {
    terminal::print("graph    " + chosen.path.string() + "\nname     " + chosen.graph_name +
                    "\nbecause  it " + search.reason + "\n");
    for (const std::filesystem::path& dump : dumps) terminal::print("dump     " + dump.string() + "\n");
  }
  if (dumps.empty() && !arguments.dump.empty())
    return Error(Code::not_found, arguments.dump + ": there is no directory " + chosen.graph_name + " in it");
  return 0;
}

}  // namespace opdump::cli
