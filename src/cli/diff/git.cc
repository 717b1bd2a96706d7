#include "cli/diff/git.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text/text.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

// A variable of a hook would lead git elsewhere, and sentences that are read should be English.
constexpr std::string_view kUnswayed =
    "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX; export LC_ALL=C GIT_TERMINAL_PROMPT=0\n";

// git's stdout, a zero, its exit status, a zero, its stderr.
constexpr std::string_view kAsk = R"(exec 3>&1
said=$(git -c core.hooksPath=/dev/null "$@" 2>&1 >&3 3>&-)
printf '\0%d\0%s' $? "$said")";

// Waits for the end of the process at the other end of its stdin. A program that still runs may write into
// the tree while it is removed.
constexpr std::string_view kRemove = R"(trap '' HUP INT TERM
exec >/dev/null 2>&1
cat
for i in 1 2 3 4 5; do
  git -C "$1" worktree remove --force --force "$2"
  rm -rf "$3" && exit
  sleep 1
done)";

constexpr int kNoProgram = 127, kInput = 0, kOutput = 1;

Result<std::string> receive_all(std::vector<std::string> command) {
  constexpr std::array places{kOutput};
  OPDUMP_TRY(const ConnectedChild child, ConnectedChild::start(std::move(command), places));
  std::string text;
  std::array<char, 1 << 14> buffer{};
  while (const std::size_t count = child.receive(buffer)) text.append(buffer.data(), count);
  return text;
}

std::string shell(std::string_view text) { return std::string(kUnswayed).append(text); }

// A new directory for temporary files.
Result<fs::path> make_temporary_directory() {
  std::error_code failure;
  std::string path = (fs::temp_directory_path(failure) / "opdump-XXXXXX").string();
  if (failure || ::mkdtemp(path.data()) == nullptr)
    return Error(Code::io, path + ": " + (failure ? failure.message() : std::strerror(errno)));
  return fs::path(path);
}

}  // namespace

std::string short_id(const GitCommit& commit) { return commit.id.substr(0, 10); }

std::string describe(const GitCommit& commit) {
  const std::string text = short_id(commit) + (commit.subject.empty() ? "" : " " + commit.subject);
  return commit.revision.empty() ? text : commit.revision + " (" + text + ")";
}

Result<GitAnswer> run_git(const fs::path& directory, const std::vector<std::string>& words) {
  std::vector<std::string> command{"/bin/sh", "-c", shell(kAsk), "git", "-C", directory.string()};
  command.insert(command.end(), words.begin(), words.end());
  OPDUMP_TRY(const std::string text, receive_all(std::move(command)));
  const std::size_t first = text.find('\0'), second = text.find('\0', first + 1);
  if (second == std::string::npos) return Error(Code::io, "git: was ended");
  const auto status = parse_int64(std::string_view(text).substr(first + 1, second - first - 1));
  GitAnswer answer{.status = static_cast<int>(status.value_or(kNoProgram)),
                   .out = text.substr(0, first),
                   .err = text.substr(second + 1)};
  if (answer.status == kNoProgram) return Error(Code::not_found, "git is not installed");
  return answer;
}

Result<std::string> ask_git(const fs::path& directory, const std::vector<std::string>& words) {
  OPDUMP_TRY(GitAnswer answer, run_git(directory, words));
  if (answer.status != 0) {
    const auto lines = split(trim(answer.err), '\n');
    return Error(Code::io, "git " + words.front() + ": " + std::string(lines.back()));
  }
  while (answer.out.ends_with('\n')) answer.out.pop_back();
  return answer.out;
}

Result<GitRepository> GitRepository::find(const fs::path& directory) {
  OPDUMP_TRY(const GitAnswer answer, run_git(directory, {"rev-parse", "--show-toplevel", "--show-prefix"}));
  const auto lines = split(answer.out, '\n');
  if (answer.status != 0 || lines.size() < 2 || lines[0].empty())
    return Error(Code::usage, fs::absolute(directory).lexically_normal().string() +
                                  " is in no working tree of a git repository: " +
                                  std::string(split(trim(answer.err), '\n').back()));
  GitRepository repository;
  repository.root_ = lines[0];
  repository.place_ = lines[1];
  return repository;
}

Result<GitCommit> GitRepository::resolve(const std::string& revision) const {
  OPDUMP_TRY(const GitAnswer answer, run_git(root_, {"rev-parse", "--verify", "--quiet", "--end-of-options",
                                                     revision + "^{commit}"}));
  if (answer.status != 0 || revision.empty())
    return Error(Code::usage, "'" + revision + "' is no revision of " + root_.string());
  GitCommit commit{.revision = revision, .id = std::string(trim(answer.out))};
  OPDUMP_TRY(commit.subject, ask_git(root_, {"log", "-1", "--format=%s", commit.id}));
  if (commit.id == revision) commit.revision.clear();
  return commit;
}

Result<bool> GitRepository::leads_to(const GitCommit& first, const GitCommit& second) const {
  OPDUMP_TRY(const GitAnswer answer, run_git(root_, {"merge-base", "--is-ancestor", first.id, second.id}));
  return answer.status == 0;
}

Result<std::size_t> GitRepository::count_changes() const {
  OPDUMP_TRY(const std::string text, ask_git(root_, {"status", "--porcelain", "--untracked-files=no"}));
  return text.empty() ? std::size_t{0} : split(text, '\n').size();
}

void warn_of_checkout(const GitRepository& repository, const CommandLine& command) {
  if (command.text.find(repository.root().string() + "/") != std::string::npos)
    terminal::print_error("the command names files in " + repository.root().string() +
                          ": those are your checkout's, whatever the revision");
}

Result<GitWorktree> GitWorktree::add(const GitRepository& repository, const GitCommit& commit) {
  OPDUMP_TRY(const fs::path folder, make_temporary_directory());
  const fs::path name = repository.root().filename();
  const fs::path path = folder / (name.empty() ? "worktree" : name);
  constexpr std::array places{kInput};
  auto janitor = ConnectedChild::start(
      {"/bin/sh", "-c", shell(kRemove), "opdump", repository.root().string(), path.string(), folder.string()},
      places, {});
  if (!janitor) return janitor.take_error();
  GitWorktree worktree(path, std::move(janitor->front()));
  OPDUMP_CHECK_OK(
      ask_git(repository.root(), {"worktree", "add", "--quiet", "--detach", path.string(), commit.id}));
  return worktree;
}

Result<> GitWorktree::tidy() const {
  OPDUMP_CHECK_OK(ask_git(path_, {"reset", "--quiet", "--hard"}));
  OPDUMP_CHECK_OK(ask_git(path_, {"clean", "--quiet", "-ffdx"}));
  return ok();
}

Result<> GitWorktree::visit(const GitCommit& commit) const {
  OPDUMP_CHECK_OK(tidy());
  OPDUMP_CHECK_OK(ask_git(path_, {"checkout", "--quiet", "--detach", commit.id}));
  return ok();
}

}  // namespace opdump::cli
