// `opdump bisect GOOD BAD 'COMMAND'`: the first commit by which a program computes something else, and the
// operator that does. git bisect chooses the revisions, in a working tree of its own.
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text/json.h"
#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/diff/answer.h"
#include "cli/diff/closer_look.h"
#include "cli/diff/git.h"
#include "cli/diff/given.h"
#include "cli/diff/judge.h"
#include "cli/verb.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBisectFooter =
    R"(The command runs at GOOD, and opdump keeps fingerprints of every step, a hash and statistics of each tensor.
git bisect then chooses revisions between GOOD and BAD, and opdump judges each by GOOD's fingerprints. It answers
with the first commit that differs by more than rounding, and with the operator by which it does. A revision at
which the command cannot start, or ends with an error, is skipped.

All of it happens in working trees of their own, which have the files that git knows. Your checkout is not
touched, nor a bisection that you are in.

Exit status: 0 GOOD and BAD do not differ, 1 the commit is found, 2 wrong use, 3 no complete answer.

Examples:
  opdump bisect v1.0 main 'python3 train.py --steps 20'
  opdump bisect HEAD~50 HEAD -- python3 train.py --steps 20)";

struct BisectArguments {
  std::vector<std::string> given;  // GOOD, BAD, and the command as a text
  std::string directory = ".", output;
  bool json = false;
  Looking looking;
};

void declare_bisect(CLI::App& app, BisectArguments& arguments) {
  app.add_option("REVISION", arguments.given, "GOOD and BAD, and the command line as one word");
  app.add_option("--cwd", arguments.directory, "The directory of the repository to run in; default: this one")
      ->type_name("DIRECTORY");
  app.add_option("-o,--output", arguments.output, "A new folder for all recordings; default: opdump_bisect")
      ->type_name("FOLDER");
  app.add_option("--budget", arguments.looking.budget, "The most that each recording writes; see opdump run")
      ->type_name("SIZE");
  app.add_flag("--json", arguments.json, "Print one JSON object");
  add_blame_options(app, arguments.looking.blame);
  app.footer(std::string(kBisectFooter));
}

// What is searched.
struct BisectRange {
  GitRepository repository;
  GitCommit good, bad;
};

enum class BisectVerdict : std::uint8_t { good, bad, skip };
constexpr std::array<std::string_view, 3> kVerdictNames{"good", "bad", "skip"};  // git bisect's

// A revision that was judged.
struct Judged {
  GitCommit commit;
  DiffSide side;
  BisectVerdict verdict = BisectVerdict::skip;
  DiffAnswer answer{};  // its sentence says why, if it is skipped
};

struct BisectAnswer {
  std::optional<GitCommit> first_bad{};
  std::vector<GitCommit> candidates{};  // of which one is it, if too many were skipped
  std::array<std::size_t, 3> judged{};  // how many, by their verdict
  std::vector<DiffSide> sides{};        // GOOD, and the revision that `diff` is of
  DiffAnswer diff{};
};

BisectVerdict verdict_of(const DiffAnswer& answer) {
  switch (exit_of(answer)) {
    case Exit::match:
      return BisectVerdict::good;
    case Exit::mismatch:
      return BisectVerdict::bad;
    case Exit::usage:
    case Exit::incomplete:
      break;
  }
  return BisectVerdict::skip;
}

std::string say(const Judged& judged) {
  switch (judged.verdict) {
    case BisectVerdict::good:
      return "good: it does not differ";
    case BisectVerdict::bad:
      return "bad: it differs in step " + std::to_string(judged.answer.step.value_or(0));
    case BisectVerdict::skip:
      break;
  }
  return "skipped: " + judged.answer.sentence;
}

// What git bisect has found; empty if nothing yet.
std::string_view first_bad_in(std::string_view said) {
  constexpr std::string_view kFound = " is the first bad commit";
  for (const std::string_view line : split(said, '\n'))
    if (line.ends_with(kFound)) return line.substr(0, line.size() - kFound.size());
  return {};
}

bool has_only_skipped(std::string_view said) {
  return said.find("only 'skip'ped commits left") != std::string_view::npos;
}

bool is_id(std::string_view line) {
  return line.size() >= 40 && line.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Runs the command at revisions, and judges them by GOOD's fingerprints.
class Bisection {
 public:
  Bisection(Looking looking, CommandLine command, BisectRange range)
      : looking_(std::move(looking)), command_(std::move(command)), range_(std::move(range)) {}

  // Errors: those of git; the command does not come to its end at GOOD.
  Result<BisectAnswer> run() {
    OPDUMP_TRY(const GitWorktree good_tree, GitWorktree::add(range_.repository, range_.good));
    OPDUMP_TRY(const GitWorktree tree, GitWorktree::add(range_.repository, range_.bad));
    terminal::print_error("A is GOOD, " + describe(range_.good) +
                          ", and B each revision that is judged by it");
    warn_of_checkout(range_.repository, command_);
    DiffSide good = make_side("A", good_tree, "good", range_.good);
    OPDUMP_TRY(RecordedSide golden, record_fingerprints(good, kFingerprintsName, looking_));
    if (const std::string end = describe_end(good, golden.recording); !end.empty())
      return Error(Code::io, end + "; its output is in " + golden.recording.log.string());
    OPDUMP_TRY(Judged last, judge(golden, tree, range_.bad));
    if (last.verdict == BisectVerdict::bad) OPDUMP_CHECK_OK(search(golden, tree, last));
    if (answer_.first_bad && !last.answer.rerun.empty()) {
      OPDUMP_CHECK_OK(good_tree.tidy());
      OPDUMP_CHECK_OK(tree.visit(last.commit));
      OPDUMP_CHECK_OK(look_closer(looking_, {good, last.side}, last.answer));
    }
    answer_.sides = {std::move(good), std::move(last.side)};
    answer_.diff = std::move(last.answer);
    return std::move(answer_);
  }

 private:
  DiffSide make_side(std::string name, const GitWorktree& tree, const std::string& folder,
                     const GitCommit& commit) const {
    return {.name = std::move(name),
            .command = command_,
            .directory = tree.path() / range_.repository.place(),
            .folder = looking_.folder / folder,
            .revision = describe(commit)};
  }

  // Runs the command at the revision that `tree` has. Only a recording that may be needed stays.
  Result<Judged> judge(RecordedSide& golden, const GitWorktree& tree, const GitCommit& commit) {
    Judged judged{.commit = commit, .side = make_side("B", tree, short_id(commit), commit)};
    terminal::print_error("running B, " + describe(commit));
    auto run = record_against(golden.dump, std::nullopt, judged.side, looking_);
    if (run) {
      OPDUMP_TRY(judged.answer, judge_runs(golden.dump, run->dump, std::nullopt));
      note_end(judged.answer, judged.side, *run);
      judged.verdict = verdict_of(judged.answer);
      const std::string end = describe_end(judged.side, run->recording);
      if (judged.verdict == BisectVerdict::skip && !end.empty()) judged.answer.sentence = end;
    } else if (run.error().code() == Code::usage) {
      return run.take_error();
    } else {
      judged.answer.sentence = run.error().message();
    }
    terminal::print_error(say(judged));
    if (judged.verdict == BisectVerdict::good && commit.id != range_.bad.id) remove(judged);
    ++answer_.judged[static_cast<std::size_t>(judged.verdict)];
    return judged;
  }

  static void remove(const Judged& judged) {
    std::error_code ignored;
    fs::remove_all(judged.side.folder, ignored);
  }

  // Asks git bisect for revisions until it knows the first bad one, which `last` is then, or has no others
  // left than those that were skipped.
  Result<> search(RecordedSide& golden, const GitWorktree& tree, Judged& last) {
    OPDUMP_CHECK_OK(tree.tidy());
    OPDUMP_TRY(GitAnswer said, run_git(tree.path(), {"bisect", "start", range_.bad.id, range_.good.id}));
    for (;;) {
      if (first_bad_in(said.out) == last.commit.id) {
        answer_.first_bad = last.commit;
        return ok();
      }
      if (has_only_skipped(said.out)) return list_candidates(said.out);
      if (said.status != 0) return Error(Code::io, "git bisect: " + std::string(trim(said.err + said.out)));
      OPDUMP_TRY(const std::string head, ask_git(tree.path(), {"rev-parse", "HEAD"}));
      OPDUMP_TRY(const GitCommit commit, range_.repository.resolve(head));
      OPDUMP_TRY(Judged judged, judge(golden, tree, commit));
      OPDUMP_CHECK_OK(tree.tidy());
      const std::string word(kVerdictNames[static_cast<std::size_t>(judged.verdict)]);
      OPDUMP_TRY(said, run_git(tree.path(), {"bisect", word}));
      if (judged.verdict != BisectVerdict::bad) continue;
      remove(last);
      last = std::move(judged);
    }
  }

  Result<> list_candidates(const std::string& said) {
    for (const std::string_view line : split(said, '\n')) {
      if (!is_id(line)) continue;
      OPDUMP_TRY(GitCommit commit, range_.repository.resolve(std::string(line)));
      answer_.candidates.push_back(std::move(commit));
    }
    return ok();
  }

  const Looking looking_;
  const CommandLine command_;
  const BisectRange range_;
  BisectAnswer answer_;
};

// "5 revisions: 2 good, 2 bad, 1 skipped"
std::string count_text(const std::array<std::size_t, 3>& judged) {
  const auto number = [&](BisectVerdict verdict) { return judged[static_cast<std::size_t>(verdict)]; };
  const std::size_t skipped = number(BisectVerdict::skip);
  return counted(judged[0] + judged[1] + judged[2], "revision") + ": " +
         std::to_string(number(BisectVerdict::good)) + " good, " +
         std::to_string(number(BisectVerdict::bad)) + " bad" +
         (skipped == 0 ? "" : ", " + std::to_string(skipped) + " skipped");
}

// The line in front of the answer about GOOD and the commit.
std::string headline(const BisectAnswer& answer) {
  if (answer.first_bad)
    return "first bad commit: " + describe(*answer.first_bad) + "\njudged " + count_text(answer.judged) +
           "\n";
  if (answer.candidates.empty())
    return exit_of(answer.diff) == Exit::match ? "GOOD and BAD do not differ\n"
                                               : "cannot tell whether BAD differs from GOOD\n";
  std::string text = "cannot tell: the first bad commit is one of " +
                     std::to_string(answer.candidates.size()) + ", as the others of them were skipped\n";
  for (const GitCommit& commit : answer.candidates) text += "  " + describe(commit) + "\n";
  return text;
}

Exit exit_of(const BisectAnswer& answer) {
  return answer.candidates.empty() ? exit_of(answer.diff) : Exit::incomplete;
}

std::string bisect_json(const BisectAnswer& answer, const BisectRange& range, const std::string& folder) {
  auto json = parse_ordered_json(diff_json(answer.diff, answer.sides, folder));
  const auto commit_json = [](const GitCommit& commit) {
    return nlohmann::ordered_json{{"id", commit.id}, {"subject", commit.subject}};
  };
  json["good"] = commit_json(range.good);
  json["bad"] = commit_json(range.bad);
  json["first_bad"] = answer.first_bad ? commit_json(*answer.first_bad) : nlohmann::ordered_json();
  json["candidates"] = nlohmann::ordered_json::array();
  for (const GitCommit& commit : answer.candidates) json["candidates"].push_back(commit_json(commit));
  for (std::size_t i = 0; i < kVerdictNames.size(); ++i)
    json["judged"][std::string(kVerdictNames[i])] = answer.judged[i];
  return json_text(json) + "\n";
}

Result<BisectRange> find_range(const BisectArguments& arguments) {
  OPDUMP_TRY(GitRepository repository, GitRepository::find(arguments.directory));
  OPDUMP_TRY(GitCommit good, repository.resolve(arguments.given[0]));
  OPDUMP_TRY(GitCommit bad, repository.resolve(arguments.given[1]));
  if (good.id == bad.id) return Error(Code::usage, "GOOD and BAD are the same commit, " + describe(good));
  OPDUMP_TRY(const bool leads, repository.leads_to(good, bad));
  if (!leads)
    return Error(Code::usage,
                 "GOOD does not lead to BAD: " + describe(good) + " is no ancestor of " + describe(bad));
  return BisectRange{std::move(repository), std::move(good), std::move(bad)};
}

Result<CommandLine> find_command(const GivenWords& words, const BisectArguments& arguments) {
  const std::size_t expected = words.has_dashes ? 2 : 3;
  if (arguments.given.size() != expected)
    return Error(Code::usage,
                 "two revisions and a command line are expected: opdump bisect GOOD BAD 'python3 train.py'");
  if (!words.has_dashes) return parse_command_line(arguments.given[2]);
  OPDUMP_TRY(std::vector<CommandLine> commands, take_commands(words.behind));
  if (commands.size() != 1) return Error(Code::usage, "one command line is expected");
  return std::move(commands.front());
}

}  // namespace

Result<int> run_bisect(std::span<const char* const> args) {
  BisectArguments arguments;
  CLI::App app("Finds the first commit by which a program computes something else.", "opdump bisect");
  declare_bisect(app, arguments);
  const GivenWords words = split_at_dashes(args);
  if (auto done = parse_arguments(app, words.own)) return std::move(*done);
  OPDUMP_TRY(CommandLine command, find_command(words, arguments));
  OPDUMP_TRY(const BisectRange range, find_range(arguments));
  OPDUMP_TRY(arguments.looking.folder, choose_new_folder(arguments.output, "opdump_bisect"));
  const std::string folder = arguments.looking.folder.string();
  OPDUMP_TRY(const BisectAnswer answer,
             Bisection(std::move(arguments.looking), std::move(command), range).run());
  if (arguments.json)
    terminal::print_json(bisect_json(answer, range, folder));
  else
    terminal::print(headline(answer) + format_diff(answer.diff, folder));
  return static_cast<int>(exit_of(answer));
}

}  // namespace opdump::cli
