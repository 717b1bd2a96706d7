// `opdump reproduce DUMP OPERATOR -o script.py`: a script that runs an operator on its recorded inputs and
// shows how far the recorded output is off.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/text/json.h"
#include "blame/request.h"
#include "cli/arguments.h"
#include "cli/compare/replay.h"
#include "cli/verb.h"
#include "compare/names.h"
#include "dump/read/dump_set.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

// By its whole name, else by the end of it.
Result<dump::OperatorRun> find_run(const dump::DumpSet& dump, const std::string& name,
                                   std::optional<std::int64_t> step) {
  std::optional<std::size_t> found;
  bool is_whole = false;
  for (std::size_t i = 0; i < dump.runs().size(); ++i) {
    if (step && dump.runs().section_of(i).step != *step) continue;
    const dump::OperatorRun run = dump.runs().without_slots(i);
    const std::string& full = compare::operator_name(run);
    const bool is_this = full == name || run.name == name;
    if (!is_this && !full.ends_with("/" + name)) continue;
    if (found && (is_whole || !is_this)) continue;
    found = i;
    is_whole = is_this;
  }
  if (!found)
    return Error(Code::not_found, dump.path().string() + ": no operator " + name +
                                      (step ? " in step " + std::to_string(*step) : std::string()));
  return dump.runs()[*found];
}

}  // namespace

Result<int> run_reproduce(std::span<const char* const> args) {
  std::string path, name, script = "reproduce.py", python;
  std::optional<std::int64_t> step;
  CLI::App app(
      "Writes a script that runs an operator on its recorded inputs and shows the error of its output.",
      "opdump reproduce");
  app.add_option("DUMP", path, "The dump: its root, or any directory below it")->required();
  app.add_option("OPERATOR", name, "The operator, by its name or the end of it")->required();
  app.add_option("-o,--output", script,
                 "The script; default: reproduce.py. Large inputs are written to a file beside it");
  app.add_option("--step", step, "The step; default: the first one that has the operator");
  app.add_option(
      "--python", python,
      "The Python with torch; default: $OPDUMP_PYTHON, else python3, or the one that recorded the run "
      "if that has the torch of then and python3 has not");
  app.footer(
      "Example:\n  opdump reproduce actual Default/fc-Linear/addmm-op0 -o script.py && python3 script.py");
  if (auto done = parse_arguments(app, args)) return *done;

  OPDUMP_TRY(const dump::DumpSet dump, dump::DumpSet::open(path, terminal::print_remark));
  OPDUMP_TRY(const dump::OperatorRun run, find_run(dump, name, step));
  const std::string& full = compare::operator_name(run);
  auto request = blame::make_script_request(run, full, script);
  if (!request) return Error(request.error().code(), full + ": " + request.error().message());
  ReplayWorkers workers(python);
  workers.introduce(dump);
  OPDUMP_TRY(const std::string reply, workers.ask(std::move(*request)));
  const auto answer = parse_json(reply);
  if (!answer.is_object() || !answer.value("ok", false))
    return Error(Code::unsupported, full + ": " + (answer.is_object() ? answer.value("reason", "") : reply));
  terminal::print("wrote " + script + "\n");
  return 0;
}

}  // namespace opdump::cli
