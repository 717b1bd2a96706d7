// `opdump watch -- COMMAND`, a flight recorder: the program runs as it is, the statistics of its last steps
// are kept, and when something goes wrong opdump says what, where, and since when.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/record/new_folder.h"
#include "cli/record/recorded_program.h"
#include "cli/record/run_config.h"
#include "cli/verb.h"
#include "cli/watch/answer.h"
#include "dialect/opdump_settings.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWatchFooter =
    R"(The program runs as it is: opdump changes none of its numbers. It looks at what every operator makes, and
keeps the statistics of the last steps. It fires at the first operator that makes a NaN or an infinity of
numbers that are finite (a mask with -inf is none of these), at an exception or a signal that ends the program,
at opdump.alarm("text") in it, and at --spike. The step is recorded to its end, and the program goes on without
opdump. What was kept is a dump: opdump ls, show, report and view read it.

The exit status is the program's own; with --check it is 1 if opdump fired. 2 for wrong use, and the program was
not run; 127 if there is no such program, 126 if it cannot be executed.

Examples:
  opdump watch -- python3 train.py
  opdump watch --last 50 -- torchrun --nproc-per-node 2 train.py
  opdump watch --spike loss:5x -- python3 train.py
  opdump watch --check --json -- python3 train.py | tail -1
  opdump watch -o flight --keep -- python3 train.py)";

struct WatchArguments {
  std::string output, spike, compiled;
  unsigned last = 10;
  bool keep = false, check = false, json = false, best_effort = false;
  std::vector<std::string> command;
};

// "loss:5x", for the environment "loss:5".
Result<std::string> parse_spike(const std::string& text) {
  if (text.empty()) return text;
  const std::size_t colon = text.rfind(':');
  std::string factor = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (factor.ends_with('x')) factor.pop_back();
  char* end = nullptr;
  const double number = std::strtod(factor.c_str(), &end);
  if (colon == 0 || factor.empty() || *end != '\0' || !(number > 1) || number > 1e9)
    return Error(Code::usage,
                 "--spike is " + quote(text) + "; expected a name and a factor above 1: loss:5x");
  return text.substr(0, colon + 1) + factor;
}

void declare(CLI::App& app, WatchArguments& arguments) {
  app.add_option("-o,--output", arguments.output, "A new folder for what is kept; default: opdump_watch")
      ->type_name("FOLDER");
  app.add_option("--last", arguments.last, "How many steps are kept; default: 10")
      ->type_name("STEPS")
      ->check(CLI::Range(static_cast<unsigned>(dialect::kFewestWatched),
                         static_cast<unsigned>(dialect::kMostWatched)));
  app.add_option(
         "--spike", arguments.spike,
         "Fire when a value is so many times its median: loss:5x; values are those of opdump.log(\"loss\", "
         "x), or without these the scalar that backward() starts from")
      ->type_name("VALUE");
  app.add_flag("--keep", arguments.keep, "Keep the last steps also if nothing happens");
  app.add_flag("--check", arguments.check, "Exit with 1 if opdump fired");
  app.add_flag("--json", arguments.json, "Print one JSON object as the last line of stdout");
  app.add_option("--compiled", arguments.compiled, "Regions of torch.compile; see opdump run")
      ->check(CLI::IsMember({"aten", "opaque"}));
  app.add_flag("--best-effort", arguments.best_effort,
               "Run the program also if there is no recorder for its PyTorch or TensorFlow");
  app.add_option("COMMAND", arguments.command, "The program and its arguments")->required();
  app.positionals_at_end();
  app.footer(std::string(kWatchFooter));
}

// What was recorded; nothing if nothing was, and says why.
Result<WatchAnswer> judge(const fs::path& folder, const RunReport& report, int status) {
  if (report.count('+') > 0) {
    auto dump = dump::DumpSet::open(folder);
    if (dump) return judge_watched(*dump, status);
    if (dump.error().code() != Code::not_found) return dump.take_error();
  } else if (report.count('!') == 0) {  // else the recorder has said why
    terminal::print_error("nothing was watched: " + describe_absence(report));
  }
  return WatchAnswer();
}

void print_answer(const WatchArguments& arguments, const WatchAnswer& answer, const std::string& folder,
                  int status) {
  if (arguments.json) {
    terminal::print_json(watch_json(answer, folder, status));
  } else if (answer.has_fired() || answer.watched_steps > 0) {
    std::string text = format_watch(answer, folder);
    text.pop_back();
    terminal::print_error(text);
  }
}

}  // namespace

Result<int> run_watch(std::span<const char* const> args) {
  WatchArguments arguments;
  CLI::App app("Runs a program and names the operator that makes the first NaN or infinity.", "opdump watch");
  declare(app, arguments);
  if (auto finished = parse_arguments(app, args)) return std::move(*finished);
  OPDUMP_TRY(const std::string spike, parse_spike(arguments.spike));
  OPDUMP_TRY(const fs::path folder, find_free_folder(arguments.output, "opdump_watch"));
  RecordingArguments recording;
  recording.request = {.output = folder.string(), .steps = "all", .watch = arguments.last};
  OPDUMP_TRY(const RunConfig config, find_config(recording, true));
  RunReport report;
  OPDUMP_CHECK_OK(set_environment(
      {.config = config.path, .compiled = arguments.compiled, .best_effort = arguments.best_effort}, report));
  if (!spike.empty()) ::setenv("OPDUMP_SPIKE", spike.c_str(), 1);
  OPDUMP_TRY(PreparedFolder prepared, prepare_recording(config, recording));
  OPDUMP_TRY(const ProgramRun run, run_program(arguments.command));
  const auto remove_folder = [&] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  };
  if (run.error != 0) return report_failure(arguments.command[0], run.error);
  prepared.keep();
  terminal::print_log(report.messages());
  OPDUMP_TRY(const WatchAnswer answer, judge(folder, report, run.status));
  const bool keeps = answer.has_fired() || (arguments.keep && report.count('+') > 0);
  if (!keeps) remove_folder();
  print_answer(arguments, answer, keeps ? folder.string() : "", run.status);
  report.remove();
  OPDUMP_CHECK_OK(terminal::flush_output());
  return arguments.check && answer.has_fired() ? 1 : pass_on(run.status);
}

}  // namespace opdump::cli
