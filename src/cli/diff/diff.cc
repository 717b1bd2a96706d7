// `opdump diff 'A' 'B'`: from two command lines to the operator by which the programs part, at whatever step
// that is. Runs both for fingerprints, finds the step, and runs both again for that step with tensors.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/text.h"
#include "blame/report.h"
#include "cli/arguments.h"
#include "cli/compare/blame.h"
#include "cli/compare/replay.h"
#include "cli/diff/answer.h"
#include "cli/diff/judge.h"
#include "cli/diff/side.h"
#include "cli/record/growing.h"
#include "cli/verb.h"
#include "compare/names.h"
#include "result/page.h"
#include "result/schema.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDiffFooter =
    R"(A and B are command lines, as you would type them: opdump runs them without a change. It keeps fingerprints
of every step, a hash and statistics of each tensor, finds the first step in which the two part by more than
rounding, runs both again with the tensors of that step, and names the operator.

Of one command line: is my program deterministic? Of two folders with dumps: opdump compare --blame.

Exit status: 0 no difference, 1 a difference, 2 wrong use, 3 no complete answer.

Examples:
  opdump diff 'python3 train.py' 'python3 train.py --fast'
  opdump diff 'python3 train.py' 'OMP_NUM_THREADS=1 python3 train.py'
  opdump diff --cwd main --cwd my-branch 'python3 train.py' 'python3 train.py'
  opdump diff -- python3 train.py --lr 0.1 --- python3 train.py --lr 0.2
  opdump diff 'python3 train.py'                     is it deterministic?
  opdump diff --noise 2 'python3 train.py' 'python3 train.py --fast'
  opdump diff golden actual)";

struct DiffArguments {
  std::vector<std::string> given;  // A and B as texts, or folders
  std::vector<CommandLine> commands;
  std::vector<std::string> directories;
  std::string output, budget;
  bool json = false, no_rerun = false, keep_going = false;
  unsigned noise = 1;
  BlameArguments blame;
};

void declare(CLI::App& app, DiffArguments& arguments) {
  app.add_option("COMMAND", arguments.given,
                 "One or two command lines, each as one word; or two folders with dumps");
  app.add_option("--cwd", arguments.directories,
                 "The directory to run in; given twice: that of A, and that of B")
      ->type_name("DIRECTORY")
      ->allow_extra_args(false);
  app.add_option("-o,--output", arguments.output, "A new folder for all recordings; default: opdump_diff")
      ->type_name("FOLDER");
  app.add_flag("--no-rerun", arguments.no_rerun,
               "Do not run the programs again for tensors; print the commands that do");
  app.add_flag("--keep-going", arguments.keep_going, "Do not stop B where it parts from A");
  app.add_option("--noise", arguments.noise,
                 "Run A so many times: what A alone does not reproduce is no fault of B; default: 1")
      ->check(CLI::Range(1U, 16U));
  app.add_option("--budget", arguments.budget, "The most that each recording writes; see opdump run")
      ->type_name("SIZE");
  app.add_flag("--json", arguments.json, "Print one JSON object");
  add_blame_options(app, arguments.blame);
  app.footer(std::string(kDiffFooter));
}

// Words behind "--": one command, or two with "---" between them.
Result<> take_words(std::span<const char* const> words, std::vector<CommandLine>& commands) {
  std::vector<std::vector<std::string>> parts(1);
  for (const char* word : words)
    if (std::string_view(word) == "---")
      parts.emplace_back();
    else
      parts.back().emplace_back(word);
  for (const auto& part : parts) {
    OPDUMP_TRY(CommandLine command, make_command_line(part));
    commands.push_back(std::move(command));
  }
  return ok();
}

bool is_dump(const std::string& text) {
  std::error_code ignored;
  return fs::is_directory(text, ignored);
}

// A folder that is not there yet, or is empty.
Result<fs::path> choose_folder(const std::string& output) {
  std::error_code ignored;
  const auto is_free = [&](const fs::path& path) {
    return !fs::exists(path, ignored) || fs::is_empty(path, ignored);
  };
  if (!output.empty() && !is_free(output))
    return Error(Code::usage,
                 "--output: " + output + " has files already; remove them, or name another folder");
  fs::path folder = output.empty() ? "opdump_diff" : output;
  for (int number = 2; !is_free(folder); ++number) folder = "opdump_diff-" + std::to_string(number);
  if (auto made = make_directories(folder, 0777); !made)
    return Error(Code::usage, "--output: " + made.error().message());
  return folder;
}

// The work, step by step. What is known so far is in `answer_`.
class Diff {
 public:
  Diff(const DiffArguments& arguments, std::vector<DiffSide> sides, fs::path folder)
      : arguments_(arguments), sides_(std::move(sides)), folder_(std::move(folder)) {}

  Result<int> run() {
    OPDUMP_TRY(DiffAnswer answer, sides_.size() == 1 ? look_at_one() : look_at_two());
    const std::string folder = folder_.string();
    if (arguments_.json)
      terminal::print_json(diff_json(answer, sides_, folder));
    else
      terminal::print(format_diff(answer, folder));
    return static_cast<int>(exit_of(answer));
  }

 private:
  struct Recorded {
    SideRun recording;
    dump::DumpSet dump;
  };

  RecordingOptions with_budget(RecordingOptions options) const {
    if (!arguments_.budget.empty()) options.insert(options.end(), {"--budget", arguments_.budget});
    return options;
  }

  Result<Recorded> record_side(const DiffSide& side, const std::string& name, const RecordingOptions& options,
                               const std::function<bool()>& poll = {}) const {
    OPDUMP_TRY(SideRun recording, record(side, name, with_budget(options), poll));
    OPDUMP_TRY(dump::DumpSet dump, open_recording(side, recording));
    return Recorded{std::move(recording), std::move(dump)};
  }

  Result<Recorded> record_fingerprints(const DiffSide& side, const std::string& name,
                                       const std::function<bool()>& poll = {}) const {
    terminal::print_error("running " + side.name + " for fingerprints: " + side.command.text);
    return record_side(side, name, kFingerprints, poll);
  }

  // B is stopped once it has come to the end of the step in which it parts from A.
  Result<Recorded> record_against(const Recorded& golden, const std::optional<Noise>& noise) const {
    if (arguments_.keep_going) return record_fingerprints(sides_[1], kFingerprintsName);
    Growth growth(sides_[1].folder / kFingerprintsName);
    return record_fingerprints(sides_[1], kFingerprintsName, [&] {
      return growth.poll([&](const dump::DumpSet& actual) {
        const auto answer = judge_runs(golden.dump, actual, noise);
        return answer && !answer->rerun.empty() && has_ended(actual, *answer->rerun.rbegin());
      });
    });
  }

  // How the runs ended, which may be why there is no more to compare.
  void note_ends(DiffAnswer& answer, const DiffSide& side, const Recorded& run) const {
    const std::string text = describe_end(side, run.recording);
    if (!text.empty()) {
      answer.notes.push_back(text + "; its output is in " + run.recording.log.string());
      if (exit_of(answer) == Exit::match) {
        answer.outcome = DiffOutcome::incomplete;
        answer.sentence += ", but " + side.name + " did not come to its end";
      }
    }
    for (const auto& [rank, status] : run.dump.statuses())
      for (const dump::Loss& loss : status.losses)
        if (loss.what.find("recording stopped") != std::string::npos) {
          answer.notes.push_back(side.name + " is not recorded from " + loss.first + " on: " + loss.reason);
          if (exit_of(answer) == Exit::match) answer.outcome = DiffOutcome::incomplete;
        }
  }

  Result<DiffAnswer> look_at_one() {
    OPDUMP_TRY(const Recorded first, record_fingerprints(sides_[0], "fingerprints"));
    OPDUMP_TRY(const Recorded second, record_fingerprints(sides_[0], "fingerprints-2"));
    DiffAnswer answer = judge_repetition(first.dump, second.dump);
    note_ends(answer, sides_[0], first);
    note_ends(answer, sides_[0], second);
    return answer;
  }

  Result<DiffAnswer> look_at_two() {
    OPDUMP_TRY(const Recorded golden, record_fingerprints(sides_[0], kFingerprintsName));
    std::optional<Noise> noise;
    for (unsigned i = 2; i <= arguments_.noise && !noise; ++i) {
      OPDUMP_TRY(const Recorded again, record_fingerprints(sides_[0], "fingerprints-" + std::to_string(i)));
      OPDUMP_TRY(noise, find_noise(golden.dump, again.dump));
    }
    OPDUMP_TRY(const Recorded actual, record_against(golden, noise));
    OPDUMP_TRY(DiffAnswer answer, judge_runs(golden.dump, actual.dump, noise));
    if (!answer.rerun.empty()) OPDUMP_CHECK_OK(look_closer(answer));
    note_ends(answer, sides_[0], golden);
    note_ends(answer, sides_[1], actual);
    return answer;
  }

  // Records the steps again, with tensors, and asks which operator is to blame.
  Result<> look_closer(DiffAnswer& answer) {
    const std::string steps = compare::format_ranges(answer.rerun);
    const RecordingOptions options{"--steps", steps};
    if (arguments_.no_rerun) {
      answer.notes.emplace_back("to see which operator is to blame, run both again for the tensors of step " +
                                steps + ":");
      for (const DiffSide& side : sides_)
        answer.commands.push_back(recording_command(side, kStepName, with_budget(options)));
      answer.commands.push_back("opdump blame " + quote_word((sides_[0].folder / kStepName).string()) + " " +
                                quote_word((sides_[1].folder / kStepName).string()));
      return ok();
    }
    terminal::print_error("they part in step " + steps + "; running both again for its tensors");
    ReplayWorkers workers(arguments_.blame.python, arguments_.blame.limits);
    OPDUMP_TRY(const Recorded golden, record_side(sides_[0], kStepName, options));
    OPDUMP_TRY(const Recorded actual, record_side(sides_[1], kStepName, options));
    return blame_step(golden, actual, workers, answer);
  }

  Result<> blame_step(const Recorded& golden, const Recorded& actual, ReplayWorkers& workers,
                      DiffAnswer& answer) {
    answer.golden = golden.dump.path().string();
    answer.actual = actual.dump.path().string();
    auto saved = result::ResultWriter::begin({.path = (folder_ / "result.opdump").string(),
                                              .command = "opdump diff",
                                              .golden = answer.golden,
                                              .actual = answer.actual});
    compare::CompareOptions options;
    if (saved) {
      OPDUMP_CHECK_OK(saved->describe(golden.dump, "golden"));
      OPDUMP_CHECK_OK(saved->describe(actual.dump, "actual"));
      options.take = [&](const compare::OperatorComparison& op) { saved->take(op); };
    }
    const auto compared = [&](const compare::Comparison& comparison) {
      return saved ? saved->conclude(comparison) : ok();
    };
    OPDUMP_TRY(blame::BlameAnswer blamed, ask_blame(golden.dump, actual.dump, workers, arguments_.blame.limit,
                                                    std::move(options), compared));
    if (saved) OPDUMP_CHECK_OK(write_report(*saved, blamed, answer));
    take_blame(std::move(blamed), answer);
    return ok();
  }

  Result<> write_report(result::ResultWriter& saved, const blame::BlameAnswer& blamed, DiffAnswer& answer) {
    OPDUMP_CHECK_OK(note_blame(saved, blamed));
    OPDUMP_TRY(result::Database database, saved.finish());
    const auto page = result::render_page(database);
    if (!page) return answer.notes.push_back("no report: " + page.error().message()), ok();
    answer.report = (folder_ / "report.html").string();
    return write_named_file(answer.report, *page, 0644);
  }

  // The tensors know more than their statistics.
  static void take_blame(blame::BlameAnswer blamed, DiffAnswer& answer) {
    const std::string steps = compare::format_ranges(answer.rerun);
    switch (blamed.outcome) {
      case blame::BlameOutcome::differs: {
        const dump::OperatorRun& run = blamed.findings.front().op.run();
        answer.step = run.step;
        answer.op = compare::operator_name(run);
        answer.source = run.op != nullptr && !run.op->source_file.empty()
                            ? run.op->source_file + ":" + std::to_string(run.op->source_line)
                            : "";
        break;
      }
      case blame::BlameOutcome::same:
        answer.outcome = DiffOutcome::not_reproducible;
        answer.notes.push_back("by their fingerprints: " + answer.sentence);
        answer.sentence = "cannot tell: when A and B ran again, they did not differ in step " + steps +
                          "; ask whether they are deterministic: opdump diff with one of the command lines";
        return;
      case blame::BlameOutcome::rounding:
        answer.outcome = DiffOutcome::rounding;
        break;
      case blame::BlameOutcome::incomplete:
        break;  // the statistics' answer stands
    }
    if (blamed.outcome != blame::BlameOutcome::incomplete) {
      answer.notes.clear();
      answer.sentence = blame::first_line(blamed);
    }
    answer.blame = std::move(blamed);
  }

  static constexpr const char *kFingerprintsName = "fingerprints", *kStepName = "step";

  const DiffArguments& arguments_;
  std::vector<DiffSide> sides_;
  const fs::path folder_;
};

// Two folders that hold dumps.
Result<int> compare_folders(const DiffArguments& arguments) {
  std::vector<std::string> words{arguments.given[0], arguments.given[1], "--blame"};
  if (arguments.json) words.emplace_back("--json");
  if (!arguments.blame.python.empty()) words.insert(words.end(), {"--python", arguments.blame.python});
  if (!arguments.blame.limits.empty()) words.insert(words.end(), {"--limits", arguments.blame.limits});
  std::vector<const char*> args;
  for (const std::string& word : words) args.push_back(word.c_str());
  return run_compare(args);
}

Result<std::vector<DiffSide>> make_sides(DiffArguments& arguments, const fs::path& folder) {
  std::vector<DiffSide> sides;
  for (std::size_t i = 0; i < arguments.commands.size(); ++i) {
    const bool is_alone = arguments.commands.size() == 1;
    DiffSide side{.name = is_alone ? "the program"
                          : i == 0 ? "A"
                                   : "B",
                  .command = std::move(arguments.commands[i])};
    side.folder = folder / (i == 0 ? "a" : "b");
    if (!arguments.directories.empty())
      side.directory = arguments.directories[std::min(i, arguments.directories.size() - 1)];
    sides.push_back(std::move(side));
  }
  return sides;
}

Result<> check(const DiffArguments& arguments) {
  if (arguments.commands.empty())
    return Error(Code::usage, "one or two command lines are expected; see opdump diff --help");
  if (arguments.commands.size() > 2)
    return Error(Code::usage, std::to_string(arguments.commands.size()) +
                                  " command lines; expected one or two, each in quotes: 'python3 train.py'");
  if (arguments.directories.size() > arguments.commands.size())
    return Error(Code::usage, "--cwd is given " + std::to_string(arguments.directories.size()) +
                                  " times; expected one directory, or one for each command line");
  std::error_code ignored;
  for (const std::string& directory : arguments.directories)
    if (!fs::is_directory(directory, ignored))
      return Error(Code::usage, "--cwd: " + directory + ": no such directory");
  if (arguments.commands.size() == 1 && (arguments.noise > 1 || arguments.no_rerun))
    return Error(Code::usage, "--noise and --no-rerun are for two command lines");
  return ok();
}

}  // namespace

Result<int> run_diff(std::span<const char* const> args) {
  DiffArguments arguments;
  CLI::App app("Names the operator by which two programs part, at whatever step.", "opdump diff");
  declare(app, arguments);
  const auto dashes = std::ranges::find(args, std::string_view("--"),
                                        [](const char* word) { return std::string_view(word); });
  const auto count = static_cast<std::size_t>(dashes - args.begin());
  if (auto done = parse_arguments(app, args.first(count))) return std::move(*done);
  if (count < args.size()) {
    if (!arguments.given.empty())
      return Error(Code::usage, "'" + arguments.given[0] + "' and the words behind -- exclude each other");
    OPDUMP_CHECK_OK(take_words(args.subspan(count + 1), arguments.commands));
  } else if (arguments.given.size() == 2 && std::ranges::all_of(arguments.given, is_dump)) {
    return compare_folders(arguments);
  }
  for (const std::string& text : arguments.given) {
    if (is_dump(text))
      return Error(Code::usage, text + " is a folder; expected two folders with dumps, or command lines");
    OPDUMP_TRY(CommandLine command, parse_command_line(text));
    arguments.commands.push_back(std::move(command));
  }
  OPDUMP_CHECK_OK(check(arguments));
  OPDUMP_TRY(const fs::path folder, choose_folder(arguments.output));
  OPDUMP_TRY(std::vector<DiffSide> sides, make_sides(arguments, folder));
  return Diff(arguments, std::move(sides), folder).run();
}

}  // namespace opdump::cli
