// `opdump diff 'A' 'B'`: from two command lines to the operator by which the programs part, at whatever step
// that is. Runs both for fingerprints, finds the step, and runs both again for that step with tensors.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/diff/answer.h"
#include "cli/diff/closer_look.h"
#include "cli/diff/git.h"
#include "cli/diff/given.h"
#include "cli/diff/judge.h"
#include "cli/diff/side.h"
#include "cli/verb.h"
#include "dialect/request.h"
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
  opdump diff --rev main --rev my-branch 'python3 train.py'
  opdump diff --rev HEAD 'python3 train.py'          what have I changed?
  opdump diff -- python3 train.py --lr 0.1 --- python3 train.py --lr 0.2
  opdump diff 'python3 train.py'                     is it deterministic?
  opdump diff --noise 2 'python3 train.py' 'python3 train.py --fast'
  opdump diff golden actual)";

struct DiffArguments {
  std::vector<std::string> given;  // A and B as texts, or folders
  std::vector<CommandLine> commands;
  std::vector<std::string> directories, revisions;
  std::string output;
  bool json = false;
  unsigned noise = 1;
  Looking looking;
};

void declare(CLI::App& app, DiffArguments& arguments) {
  app.add_option("COMMAND", arguments.given,
                 "One or two command lines, each as one word; or two folders with dumps");
  app.add_option("--cwd", arguments.directories,
                 "The directory to run in; given twice: that of A, and that of B")
      ->type_name("DIRECTORY")
      ->allow_extra_args(false);
  app.add_option(
         "--rev", arguments.revisions,
         "The revision of git to run, in a working tree of its own; given once: A is that revision, and "
         "B your files as they are; given twice: A and B")
      ->type_name("REVISION")
      ->allow_extra_args(false);
  app.add_option("-o,--output", arguments.output, "A new folder for all recordings; default: opdump_diff")
      ->type_name("FOLDER");
  app.add_flag("--no-rerun", arguments.looking.no_rerun,
               "Do not run the programs again for tensors; print the commands that do");
  app.add_flag("--keep-going", arguments.looking.keep_going, "Do not stop B where it parts from A");
  app.add_option("--noise", arguments.noise,
                 "Run A so many times: what A alone does not reproduce is no fault of B; default: 1")
      ->check(CLI::Range(1U, 16U));
  app.add_option("--steps", arguments.looking.steps, "Look at these steps only: 0-99,5000-5099; default: all")
      ->type_name("STEPS");
  app.add_option("--budget", arguments.looking.budget, "The most that each recording writes; see opdump run")
      ->type_name("SIZE");
  app.add_flag("--json", arguments.json, "Print one JSON object");
  add_blame_options(app, arguments.looking.blame);
  app.footer(std::string(kDiffFooter));
}

bool is_dump(const std::string& text) {
  std::error_code ignored;
  return fs::is_directory(text, ignored);
}

// Runs the sides, and judges.
Result<DiffAnswer> look_at_one(const Looking& looking, const DiffSide& side) {
  OPDUMP_TRY(const RecordedSide first, record_fingerprints(side, kFingerprintsName, looking));
  OPDUMP_TRY(const RecordedSide second, record_fingerprints(side, "fingerprints-2", looking));
  DiffAnswer answer = judge_repetition(first.dump, second.dump);
  note_end(answer, side, first);
  note_end(answer, side, second);
  return answer;
}

Result<DiffAnswer> look_at_two(const Looking& looking, const std::vector<DiffSide>& sides, unsigned runs) {
  OPDUMP_TRY(RecordedSide golden, record_fingerprints(sides[0], kFingerprintsName, looking));
  std::optional<Noise> noise;
  for (unsigned i = 2; i <= runs && !noise; ++i) {
    OPDUMP_TRY(const RecordedSide again,
               record_fingerprints(sides[0], "fingerprints-" + std::to_string(i), looking));
    OPDUMP_TRY(noise, find_noise(golden.dump, again.dump));
  }
  announce(sides[1]);
  OPDUMP_TRY(RecordedSide actual, record_against(golden.dump, noise, sides[1], looking));
  OPDUMP_TRY(DiffAnswer answer, judge_runs(golden.dump, actual.dump, noise));
  if (!answer.rerun.empty()) OPDUMP_CHECK_OK(look_closer(looking, sides, answer));
  note_end(answer, sides[0], golden);
  note_end(answer, sides[1], actual);
  return answer;
}

// Two folders that hold dumps.
Result<int> compare_folders(const DiffArguments& arguments) {
  std::vector<std::string> words{arguments.given[0], arguments.given[1], "--blame"};
  if (arguments.json) words.emplace_back("--json");
  if (!arguments.looking.blame.python.empty())
    words.insert(words.end(), {"--python", arguments.looking.blame.python});
  if (!arguments.looking.blame.limits.empty())
    words.insert(words.end(), {"--limits", arguments.looking.blame.limits});
  std::vector<const char*> args;
  for (const std::string& word : words) args.push_back(word.c_str());
  return run_compare(args);
}

std::vector<DiffSide> make_sides(const DiffArguments& arguments) {
  const std::size_t count = arguments.revisions.empty() ? arguments.commands.size() : 2;
  std::vector<DiffSide> sides;
  for (std::size_t i = 0; i < count; ++i) {
    DiffSide side{.name = count == 1 ? "the program"
                          : i == 0   ? "A"
                                     : "B",
                  .command = arguments.commands[std::min(i, arguments.commands.size() - 1)]};
    side.folder = arguments.looking.folder / (i == 0 ? "a" : "b");
    if (!arguments.directories.empty())
      side.directory = arguments.directories[std::min(i, arguments.directories.size() - 1)];
    sides.push_back(std::move(side));
  }
  return sides;
}

// "A is main (3f2a1b9c net: faster), B your files as they are, of which 2 differ from HEAD".
std::string describe_sides(const std::vector<DiffSide>& sides, std::size_t changes) {
  std::string text = "A is " + sides[0].revision + ", B ";
  const bool is_committed = !sides[1].revision.empty();
  text += is_committed ? sides[1].revision : "your files as they are";
  if (changes == 0) return text;
  const std::string files = counted(changes, "file");
  return is_committed ? text + "; your changes of " + files + " that are not committed are in neither"
                      : text + ", with changes of " + files + " that are not committed";
}

// The revisions that were asked for.
struct Revisions {
  GitRepository repository{};
  std::vector<GitCommit> commits{};
  std::size_t changes = 0;  // files with changes that are not committed
};

Result<Revisions> find_revisions(const DiffArguments& arguments) {
  Revisions found;
  if (arguments.revisions.empty()) return found;
  OPDUMP_TRY(found.repository,
             GitRepository::find(arguments.directories.empty() ? "." : arguments.directories[0]));
  for (const std::string& revision : arguments.revisions) {
    OPDUMP_TRY(GitCommit commit, found.repository.resolve(revision));
    found.commits.push_back(std::move(commit));
  }
  OPDUMP_TRY(found.changes, found.repository.count_changes());
  return found;
}

// Lets sides run in working trees of the revisions, as long as those are there.
Result<std::vector<GitWorktree>> check_out(const Revisions& revisions, std::vector<DiffSide>& sides) {
  std::vector<GitWorktree> trees;
  for (std::size_t i = 0; i < revisions.commits.size(); ++i) {
    OPDUMP_TRY(GitWorktree tree, GitWorktree::add(revisions.repository, revisions.commits[i]));
    sides[i].revision = describe(revisions.commits[i]);
    sides[i].directory = tree.path() / revisions.repository.place();
    trees.push_back(std::move(tree));
  }
  if (trees.empty()) return trees;
  terminal::print_error(describe_sides(sides, revisions.changes));
  warn_of_checkout(revisions.repository, sides[0].command);
  return trees;
}

Result<> check_revisions(const DiffArguments& arguments) {
  if (arguments.revisions.size() > 2)
    return Error(Code::usage, "--rev is given " + std::to_string(arguments.revisions.size()) +
                                  " times; expected one revision, or that of A and that of B");
  if (arguments.directories.size() > 1)
    return Error(Code::usage, "--rev takes one --cwd: a directory of the repository");
  if (arguments.looking.no_rerun)
    return Error(Code::usage,
                 "--rev and --no-rerun exclude each other: the working trees are gone when opdump has ended");
  return ok();
}

Result<> check(const DiffArguments& arguments) {
  const std::size_t commands = arguments.commands.size();
  if (commands == 0)
    return Error(Code::usage, "one or two command lines are expected; see opdump diff --help");
  if (commands > 2)
    return Error(Code::usage, std::to_string(commands) +
                                  " command lines; expected one or two, each in quotes: 'python3 train.py'");
  if (!arguments.revisions.empty()) OPDUMP_CHECK_OK(check_revisions(arguments));
  if (arguments.directories.size() > commands)
    return Error(Code::usage, "--cwd is given " + std::to_string(arguments.directories.size()) +
                                  " times; expected one directory, or one for each command line");
  const auto config = dialect::make_config({.output = ".", .steps = arguments.looking.steps});
  if (!config) return Error(Code::usage, "--" + config.error().message());
  std::error_code ignored;
  for (const std::string& directory : arguments.directories)
    if (!fs::is_directory(directory, ignored))
      return Error(Code::usage, "--cwd: " + directory + ": no such directory");
  const bool is_alone = commands == 1 && arguments.revisions.empty();
  if (is_alone && (arguments.noise > 1 || arguments.looking.no_rerun))
    return Error(Code::usage, "--noise and --no-rerun are for two command lines");
  return ok();
}

// The command lines, of texts or of the words behind "--".
Result<> take_given(const GivenWords& words, DiffArguments& arguments) {
  if (words.has_dashes) {
    if (!arguments.given.empty())
      return Error(Code::usage, "'" + arguments.given[0] + "' and the words behind -- exclude each other");
    OPDUMP_TRY(arguments.commands, take_commands(words.behind));
    return ok();
  }
  for (const std::string& text : arguments.given) {
    if (is_dump(text))
      return Error(Code::usage, text + " is a folder; expected two folders with dumps, or command lines");
    OPDUMP_TRY(CommandLine command, parse_command_line(text));
    arguments.commands.push_back(std::move(command));
  }
  return ok();
}

}  // namespace

Result<int> run_diff(std::span<const char* const> args) {
  DiffArguments arguments;
  CLI::App app("Names the operator by which two programs part, at whatever step.", "opdump diff");
  declare(app, arguments);
  const GivenWords words = split_at_dashes(args);
  if (auto done = parse_arguments(app, words.own)) return std::move(*done);
  const bool has_folders = arguments.given.size() == 2 && std::ranges::all_of(arguments.given, is_dump);
  if (!words.has_dashes && has_folders && arguments.revisions.empty()) return compare_folders(arguments);
  OPDUMP_CHECK_OK(take_given(words, arguments));
  OPDUMP_CHECK_OK(check(arguments));
  OPDUMP_TRY(const Revisions revisions, find_revisions(arguments));
  OPDUMP_TRY(arguments.looking.folder, choose_new_folder(arguments.output, "opdump_diff"));
  std::vector<DiffSide> sides = make_sides(arguments);
  OPDUMP_TRY(const std::vector<GitWorktree> trees, check_out(revisions, sides));
  OPDUMP_TRY(const DiffAnswer answer, sides.size() == 1
                                          ? look_at_one(arguments.looking, sides[0])
                                          : look_at_two(arguments.looking, sides, arguments.noise));
  const std::string folder = arguments.looking.folder.string();
  if (arguments.json)
    terminal::print_json(diff_json(answer, sides, folder));
  else
    terminal::print(format_diff(answer, folder));
  return static_cast<int>(exit_of(answer));
}

}  // namespace opdump::cli
