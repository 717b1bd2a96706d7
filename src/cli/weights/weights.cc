// `opdump weights GOLDEN ACTUAL`: which parameter of a checkpoint is which of another one, and whether they
// are equal.
#include <string>

#include "cli/arguments.h"
#include "cli/verb.h"
#include "cli/weights/weights_report.h"
#include "terminal/output.h"
#include "weights/judge/compare_weights.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kWeightsFooter =
    R"(A side is a .safetensors, .pt, .npz, .npy or .onnx file, an index of shards, a folder of such files, or a dump.
Pickles are read without being executed. Parameters are paired by name, by shape and by value; q, k and v merged into
one, transposed matrices, casts, tied and padded embeddings, wrappers' prefixes and both rotary orders are recognised.

Exit status: 0 equal, also after such a change; 1 something differs or is missing; 3 something could not be read.

Examples:
  opdump weights model.safetensors port.pt
  opdump weights checkpoint-500 checkpoint-501 --all
  opdump weights hf/model.safetensors.index.json vllm_dump --json)";

}  // namespace

Result<int> run_weights(std::span<const char* const> args) {
  CLI::App app("Compares the weights of two checkpoints, models or dumps, parameter by parameter.",
               "opdump weights");
  std::string golden_path, actual_path;
  WeightsStyle style;
  bool json = false;
  app.add_option("GOLDEN", golden_path, "The weights that are right")->required();
  app.add_option("ACTUAL", actual_path, "The weights to be checked")->required();
  app.add_flag("--all", style.all, "List the equal ones, too");
  app.add_flag("--json", json, "Print one JSON object");
  add_expansion_limit(app);
  app.footer(std::string(kWeightsFooter));
  if (auto done = parse_arguments(app, args)) return *done;
  OPDUMP_TRY(const weights::Checkpoint golden, weights::read_checkpoint(golden_path));
  OPDUMP_TRY(const weights::Checkpoint actual, weights::read_checkpoint(actual_path));
  const weights::WeightComparison comparison = weights::compare_weights(golden, actual);
  if (json) {
    terminal::print_json(weights_json(comparison, golden, actual, style));
  } else {
    for (const std::string& problem : comparison.problems) terminal::print_error(problem);
    terminal::print(weights_text(comparison, style));
  }
  return static_cast<int>(weights_exit(comparison));
}

}  // namespace opdump::cli
