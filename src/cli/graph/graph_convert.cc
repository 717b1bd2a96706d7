// `opdump graph convert FILE`: a graph as text becomes JSON for comparisons, without atc.
#include <filesystem>
#include <string>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/json.h"
#include "cli/arguments.h"
#include "cli/graph/graph.h"
#include "format/graphs/ge/ge_graph.h"
#include "terminal/output.h"

namespace opdump::cli {

Result<int> run_graph_convert(std::span<const char* const> args) {
  std::string file, output;
  CLI::App app("Converts a ge_proto text to the JSON that atc --mode=5 writes.", "opdump graph convert");
  app.add_option("FILE", file, "ge_proto_*.txt")->required();
  app.add_option("-o,--output", output, "The file to write; default: stdout");
  app.footer("Example:\n  opdump graph convert ge_proto_00000001_graph_1_Build.txt -o fusion.json");
  if (auto done = parse_arguments(app, args)) return std::move(*done);

  OPDUMP_TRY(const std::string text, read_file(file, format::kMaxGeGraphBytes));
  auto model = format::decode_ge_graph(text);
  if (!model) return Error(model.error().code(), file + ":" + model.error().message());
  // Bytes that are not UTF-8 become U+FFFD, because JSON allows no others.
  const std::string json = json_text(format::ge_graph_json(*model), 2);
  if (output.empty())
    terminal::print_json(json + "\n");
  else
    OPDUMP_CHECK_OK(write_named_file(output, json, 0600));
  return 0;
}

}  // namespace opdump::cli
