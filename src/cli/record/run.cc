// `opdump run -- COMMAND`, and the door to `opdump run MODEL.onnx`.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/record/against.h"
#include "cli/record/golden_data.h"
#include "cli/record/mindspore_run.h"
#include "cli/record/recorded_program.h"
#include "cli/record/run_config.h"
#include "cli/record/run_models.h"
#include "cli/verb.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

struct RunArguments {
  RecordingArguments recording;
  std::string device_format, compiled;
  bool best_effort = false;
  std::string compat;  // names with commas between
  AgainstArguments against;
  std::vector<std::string> command;
};

// Names of --compat; python/opdump/_compat.py says what they stand for.
constexpr std::array<std::string_view, 4> kFamilies{"torchair", "npu_device", "dumper", "acl"};

Result<> check_compat(const RunArguments& arguments) {
  if (arguments.compat.empty()) return ok();
  for (const std::string_view name : split(arguments.compat, ','))
    if (std::ranges::find(kFamilies, name) == kFamilies.end())
      return Error(Code::usage, "--compat is \"" + std::string(name) + "\"; known are " + join_or(kFamilies));
  return ok();
}

ProgramSettings settings_of(const RunArguments& arguments, const std::string& config) {
  return {.config = config,
          .compat = arguments.compat,
          .compiled = arguments.compiled,
          .device_format = arguments.device_format,
          .mode = arguments.recording.mode,
          .dialect = arguments.recording.dialect,
          .strict = arguments.recording.strict,
          .best_effort = arguments.best_effort};
}

void print_report(const RunReport& report, bool has_config) {
  if (report.path().empty()) return;  // nothing is known
  const std::ptrdiff_t started = report.count('+'), ended = report.count('-');
  if (started == 0 && report.count('!') > 0) return;  // it could not start, and has said why
  if (started == 0 && report.count('m') > 0) return;
  if (started == 0)
    terminal::print_error("nothing was dumped: " +
                          (has_config
                               ? describe_absence(report)
                               : "the program did not request a dump (Python with -I, -E or -S does not "
                                 "load opdump: leave these options out)"));
  else if (ended < started)
    terminal::print_error(
        "the recording was cut short: the files written so far are valid, the rest is missing (see "
        "opdump_status.json)");
}

// A program that fails before a recording begins leaves nothing. One that ends well may have started another
// that is still to begin.
bool may_have_recorded(const RunReport& report, const ProgramRun& run) {
  if (report.path().empty() || report.count('+') > 0 || report.count('m') > 0) return true;
  return run.status == 0 && report.count('!') == 0;
}

// Runs the program. When this returns, nothing is left of what was made for this run alone, so that a signal
// may end us. `status` is the program's as of waitpid(); 0 if it could not be started.
Result<int> record(RunArguments& arguments, int& status) {
  std::optional<Against> against;
  if (!arguments.against.golden.empty()) {
    OPDUMP_TRY(against, Against::begin(arguments.against, arguments.recording));
  }
  OPDUMP_TRY(const GoldenData golden, GoldenData::begin(arguments.recording));
  // With --compat the program may have its own configuration.
  OPDUMP_TRY(RunConfig config, find_config(arguments.recording, arguments.compat.empty()));
  RunReport report;
  OPDUMP_CHECK_OK(set_environment(settings_of(arguments, config.path), report));
  OPDUMP_TRY(PreparedFolder folder, prepare_recording(config, arguments.recording));
  OPDUMP_TRY(const MindsporeRun mindspore, MindsporeRun::begin(config.plan, report.folder()));

  OPDUMP_TRY(ProgramRun run, run_program(arguments.command, against ? [&] { return against->poll(); }
                                                                    : std::function<bool()>()));
  if (run.error != 0) return report_failure(arguments.command[0], run.error);
  terminal::print_log(report.messages());
  if (config.plan.is_empty && !config.path.empty())
    terminal::print_error("nothing was dumped: " + config.path + " asks for nothing");
  else if (!run.was_stopped)
    print_report(report, !config.path.empty());
  if (report.count('m') > 0)
    if (auto finished = MindsporeRun::finish(config.plan, run.status != 0); !finished)
      terminal::print_error("the dump of MindSpore is not complete: " + finished.error().message());
  if (may_have_recorded(report, run)) folder.keep();
  OPDUMP_TRY(const int code, against ? against->finish(run) : golden.finish());
  status = run.status;
  return code;
}

constexpr const char* kFirstSteps =
    "a program is expected. Record it, record it again after a change, and compare the two:\n\n"
    "  opdump run -o golden -- python3 train.py\n"
    "  opdump run -o actual -- python3 train.py\n"
    "  opdump compare golden actual\n\n"
    "opdump run --help lists what else can be recorded.";

}  // namespace

Result<int> run_run(std::span<const char* const> args) {
  if (args.empty()) return Error(Code::usage, kFirstSteps);
  if (names_model(args)) return run_models(args);
  RunArguments arguments;
  CLI::App app("Runs a program and dumps what its operators read and write.", "opdump run");
  add_recording_options(app, arguments.recording);
  add_against_options(app, arguments.against);
  app.add_option(
         "--compat", arguments.compat,
         "provide the Python modules torchair, npu_device, torch.utils.dumper or acl if the originals are "
         "missing: torchair,npu_device,dumper,acl; the program uses them to configure its dump")
      ->type_name("NAMES");
  app.add_option("--device-format", arguments.device_format,
                 "layouts to store tensors in, for acl.json: NC1HWC0,FRACTAL_NZ,...")
      ->type_name("FORMATS");
  app.add_option(
         "--compiled", arguments.compiled,
         "regions of torch.compile: checked runs and records them operator by operator, and compares the "
         "results with those of the generated kernels (default); aten does not compare; opaque runs the "
         "generated kernels and records the inputs and outputs of each region")
      ->check(CLI::IsMember({"checked", "aten", "opaque"}));
  app.add_flag("--best-effort", arguments.best_effort,
               "run the program also if there is no recorder for its PyTorch or TensorFlow");
  app.add_option("COMMAND", arguments.command, "the program and its arguments")->required();
  app.positionals_at_end();
  app.footer(
      "Examples:\n  opdump run -o golden -- python3 train.py\n"
      "  opdump run -o golden --steps 0,10-20 --ops 'conv|addmm' --module layers.3 -- python3 train.py\n"
      "  opdump run -o golden --steps all --stats --budget 20G -- python3 train.py\n"
      "  opdump run -o actual --config golden/opdump_config.json -- python3 train.py\n"
      "  opdump run --config data_dump.json -- python3 train.py --epochs 1\n"
      "  opdump run --config acl.json model.onnx --input data=image.npy   (opdump run model.onnx --help)\n"
      "  opdump run --against golden -- python3 train.py --fast\n"
      "  opdump run --golden golden -- python3 infer.py\n"
      "  opdump run --compat torchair -- python3 train_with_torchair.py\n"
      "  MINDSPORE_DUMP_CONFIG=$PWD/data_dump.json opdump run -- python3 train.py\n\n"
      "The exit status is the program's own; 2 if the configuration is wrong, its folder already has a "
      "dump or cannot be created, or there is no recorder, and the program was not run; 127 if there is no "
      "such program, 126 if "
      "it cannot be "
      "executed.");
  if (auto finished = parse_arguments(app, args)) return std::move(*finished);

  OPDUMP_CHECK_OK(check_compat(arguments));
  int status = 0;
  OPDUMP_TRY(const int code, record(arguments, status));
  return status == 0 ? code : pass_on(status);
}

}  // namespace opdump::cli
