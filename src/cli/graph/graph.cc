#include "cli/graph/graph.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "cli/verb.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

struct GraphVerb {
  std::string_view name, summary;
  Result<int> (*run)(std::span<const char* const> args);
};
constexpr std::array kGraphVerbs{
    GraphVerb{"convert", "Convert a ge_proto text to the JSON that atc --mode=5 writes", run_graph_convert},
    GraphVerb{"find", "Find the graph of a dump among all graphs of the run", run_graph_find},
};

std::string graph_help() {
  std::string text =
      "Works on graphs dumped by CANN's graph engine or opdump.\n\nusage: opdump graph VERB ...\n\n";
  for (const GraphVerb& verb : kGraphVerbs) {
    text.append("  ").append(verb.name).append(9 - verb.name.size(), ' ');
    text.append(verb.summary).append("\n");
  }
  return text + "\nopdump graph VERB --help explains a verb.\n";
}

}  // namespace

Result<int> run_graph(std::span<const char* const> args) {
  if (args.empty()) return Error(Code::usage, "a verb is expected after graph; see opdump graph --help");
  const std::string_view word = args[0];
  if (word == "--help" || word == "-h") {
    terminal::print(graph_help());
    return 0;
  }
  std::vector<std::string_view> names;
  for (const GraphVerb& verb : kGraphVerbs) {
    if (verb.name == word) return verb.run(args.subspan(1));
    names.push_back(verb.name);
  }
  return Error(Code::usage, "there is no verb graph " + std::string(word) + "; expected " + join_or(names));
}

}  // namespace opdump::cli
