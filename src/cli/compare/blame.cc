// `opdump blame GOLDEN ACTUAL`: which operator, argument, weight or random source is to blame.
#include "cli/compare/blame.h"

#include <utility>
#include <vector>

#include "base/text/text.h"
#include "blame/calibrate.h"
#include "blame/evidence.h"
#include "blame/report.h"
#include "blame/request.h"
#include "cli/arguments.h"
#include "cli/compare/pairing_options.h"
#include "cli/compare/replay.h"
#include "cli/compare/without_option.h"
#include "cli/verb.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

constexpr std::size_t kFindings = 20;

constexpr std::string_view kBlameFooter =
    R"(Operators that differ run again in float64 on the inputs that each run recorded. One whose output is not
what its own inputs and rounding explain is to blame.

Exit status: 0 no difference, or rounding; 1 a culprit; 2 wrong use; 3 incomplete, no culprit found.

Examples:
  opdump blame golden actual
  opdump blame golden actual --python ~/venv/bin/python --json
  opdump blame golden actual --save run.opdump
  opdump blame --calibrate runs/1 runs/2 --limits limits.json
  opdump reproduce actual Default/fc-Linear/addmm-op0 -o script.py)";

Exit exit_of(blame::BlameOutcome outcome) {
  switch (outcome) {
    case blame::BlameOutcome::same:
    case blame::BlameOutcome::rounding:
      return Exit::match;
    case blame::BlameOutcome::differs:
      return Exit::mismatch;
    case blame::BlameOutcome::incomplete:
      break;
  }
  return Exit::incomplete;
}

Result<int> calibrate(const std::vector<std::string>& paths, const BlameArguments& arguments) {
  if (arguments.limits.empty()) return Error(Code::usage, "--calibrate needs --limits, the file to write");
  std::vector<dump::DumpSet> dumps;
  for (const std::string& path : paths) {
    OPDUMP_TRY(dump::DumpSet dump, dump::DumpSet::open(path, terminal::print_remark));
    dumps.push_back(std::move(dump));
  }
  ReplayWorkers workers(arguments.python);
  workers.introduce(dumps.front());
  const auto ask = [&](std::string request) { return workers.ask(std::move(request)); };
  blame::Calibrated calibrated;
  for (const dump::DumpSet& dump : dumps) OPDUMP_CHECK_OK(blame::calibrate(dump, ask, calibrated));
  compare::GainTable gains;
  for (std::size_t i = 1; i < dumps.size(); ++i)
    OPDUMP_CHECK_OK(blame::calibrate_gains(dumps.front(), dumps[i], gains));
  OPDUMP_TRY(const std::string reply,
             workers.ask(blame::make_write_request(arguments.limits, gains.to_json())));
  OPDUMP_CHECK_OK(blame::parse_acknowledged(reply));
  for (const auto& [reason, count] : calibrated.left_out)
    terminal::print("left out: " + counted(count, "operator") + ": " + reason + "\n");
  terminal::print("wrote " + arguments.limits + ": " + counted(calibrated.operators, "operator") +
                  " ran again\n");
  return static_cast<int>(calibrated.operators > 0 ? Exit::match : Exit::incomplete);
}

}  // namespace

void add_blame_options(CLI::App& app, BlameArguments& arguments) {
  app.add_option(
      "--python", arguments.python,
      "The Python with the torch that runs operators again; default: $OPDUMP_PYTHON, else python3, or the "
      "one that recorded the run if that has the torch of then and python3 has not");
  app.add_option("--replays", arguments.limit, "How many operators to run again at most; default: 20000")
      ->check(not_negative());
  app.add_option("--limits", arguments.limits, "Limits of rounding, as written by --calibrate");
}

Result<> note_blame(result::ResultWriter& writer, const blame::BlameAnswer& answer) {
  std::vector<result::BlamedOperator> culprits;
  for (const blame::Finding& finding : answer.findings)
    if (culprits.empty() || finding.confidence == blame::Confidence::certain)
      culprits.push_back({.run = &finding.op.run(),
                          .slot = finding.slot,
                          .cause = blame::kCauseNames[static_cast<std::size_t>(finding.cause)],
                          .confidence = blame::kConfidenceNames[static_cast<std::size_t>(finding.confidence)],
                          .removes = finding.removes,
                          .text = blame::statement_of(finding)});
  if (answer.outcome != blame::BlameOutcome::differs) culprits.clear();
  return writer.note_blame(blame::first_line(answer), culprits);
}

Result<blame::BlameAnswer> ask_blame(
    const dump::DumpSet& golden, const dump::DumpSet& actual, ReplayWorkers& workers, std::uint64_t limit,
    compare::CompareOptions options,
    const std::function<Result<>(const compare::Comparison& comparison)>& compared) {
  workers.introduce(actual);
  workers.introduce(golden);
  blame::BlameOptions blaming;
  blaming.compare = std::move(options);
  blaming.limit = limit;
  blaming.replay = [&](std::string request) { return workers.ask(std::move(request)); };
  blaming.expect = [&](const blame::Upcoming& expected) { workers.expect(expected); };
  compare::Comparison comparison;
  OPDUMP_TRY(blame::BlameAnswer answer, blame::find_blame(golden, actual, blaming, comparison));
  workers.end();
  if (compared) OPDUMP_CHECK_OK(compared(comparison));
  return answer;
}

Result<int> print_blame(const dump::DumpSet& golden, const dump::DumpSet& actual, ReplayWorkers& workers,
                        std::uint64_t limit, compare::CompareOptions options, const BlameOutput& output) {
  OPDUMP_TRY(const blame::BlameAnswer answer,
             ask_blame(golden, actual, workers, limit, std::move(options), output.compared));
  const std::string first = golden.path().string(), second = actual.path().string();
  if (output.answered) OPDUMP_CHECK_OK(output.answered(answer));
  if (output.json)
    terminal::print_json(
        blame::answer_json(answer, first, second, output.all ? answer.findings.size() : kFindings));
  else
    terminal::print(blame::format_answer(answer, first, second));
  return static_cast<int>(exit_of(answer.outcome));
}

Result<int> run_blame(std::span<const char* const> args) {
  std::string golden_path, actual_path, save_path;
  PairingArguments pairing;
  BlameArguments arguments;
  BlameOutput output;
  compare::CompareOptions options;
  CLI::App app("Names the cause of the difference between two runs.", "opdump blame");
  std::vector<std::string> calibrating, without;
  app.add_option("GOLDEN", golden_path, "The trusted dump: its root, or any directory below it");
  app.add_option("ACTUAL", actual_path, "The dump to compare with it");
  app.add_option(
      "--calibrate", calibrating,
      "Dumps of runs without a fault, instead of GOLDEN and ACTUAL: write to --limits what rounding "
      "does in them");
  app.add_flag("--json", output.json, "Print one JSON object");
  app.add_flag("--all", output.all, "With --json: all findings, not the first 20");
  app.add_option("--save", save_path,
                 "Keep the comparison and the answer in this file, for opdump query, report and view");
  app.add_option("--threads", options.threads, "Threads to compare with; default: one per core")
      ->check(not_negative());
  add_pairing_options(app, pairing);
  add_without_option(app, without);
  add_blame_options(app, arguments);
  add_expansion_limit(app);
  app.footer(std::string(kBlameFooter));
  if (auto done = parse_arguments(app, args)) return *done;
  if (!calibrating.empty()) {
    if (!golden_path.empty()) return Error(Code::usage, "--calibrate and GOLDEN exclude each other");
    return calibrate(calibrating, arguments);
  }
  if (actual_path.empty()) return Error(Code::usage, "GOLDEN and ACTUAL are required");
  OPDUMP_CHECK_OK(use_pairing(pairing, options));
  OPDUMP_CHECK_OK(switch_off(without, options));

  ReplayWorkers workers(arguments.python, arguments.limits);
  workers.prepare();
  OPDUMP_TRY(const dump::DumpSet golden, dump::DumpSet::open(golden_path, terminal::print_remark));
  OPDUMP_TRY(const dump::DumpSet actual, dump::DumpSet::open(actual_path, terminal::print_remark));
  if (save_path.empty())
    return print_blame(golden, actual, workers, arguments.limit, std::move(options), output);
  OPDUMP_TRY(result::ResultWriter saved,
             result::ResultWriter::begin({.path = save_path,
                                          .command = "opdump blame " + golden_path + " " + actual_path,
                                          .golden = golden_path,
                                          .actual = actual_path}));
  OPDUMP_CHECK_OK(saved.describe(golden, "golden"));
  OPDUMP_CHECK_OK(saved.describe(actual, "actual"));
  options.take = [&](const compare::OperatorComparison& op) { saved.take(op); };
  output.compared = [&](const compare::Comparison& comparison) { return saved.conclude(comparison); };
  output.answered = [&](const blame::BlameAnswer& answer) { return note_blame(saved, answer); };
  OPDUMP_TRY(const int status,
             print_blame(golden, actual, workers, arguments.limit, std::move(options), output));
  OPDUMP_CHECK_OK(saved.finish());
  return status;
}

}  // namespace opdump::cli
