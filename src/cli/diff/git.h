// The program git: what revisions are, and working trees of their own for them. The checkout of the user, its
// index and a bisection that it is in are only read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/process/connected_child.h"
#include "base/result.h"
#include "cli/diff/command_line.h"

namespace opdump::cli {

struct GitCommit {
  std::string revision{};  // as the user wrote it; may be empty
  std::string id{};        // all digits
  std::string subject{};
};

// "3f2a1b9c" -- as much of an id as people read.
std::string short_id(const GitCommit& commit);

// "main (3f2a1b9c net: a faster division)".
std::string describe(const GitCommit& commit);

// What git printed, and its exit status.
struct GitAnswer {
  int status = 0;
  std::string out{}, err{};
};

// Runs git in `directory`. Errors: not_found -- there is no git; io.
Result<GitAnswer> run_git(const std::filesystem::path& directory, const std::vector<std::string>& words);

// The same, for what must succeed: stdout without the line feed at its end. Errors: also io, with git's
// reason.
Result<std::string> ask_git(const std::filesystem::path& directory, const std::vector<std::string>& words);

class GitRepository {
 public:
  // The one that `directory` is in. Errors: usage -- none; not_found -- there is no git.
  static Result<GitRepository> find(const std::filesystem::path& directory);

  // Its working tree, and where in it the directory is.
  const std::filesystem::path& root() const { return root_; }
  const std::filesystem::path& place() const { return place_; }

  // Errors: usage -- no such revision.
  Result<GitCommit> resolve(const std::string& revision) const;
  // Whether `second` has `first` among its ancestors.
  Result<bool> leads_to(const GitCommit& first, const GitCommit& second) const;
  // Files that git knows and whose changes are not committed.
  Result<std::size_t> count_changes() const;

 private:
  std::filesystem::path root_, place_;
};

// Says so if a command names files of the checkout: those are the same at every revision.
void warn_of_checkout(const GitRepository& repository, const CommandLine& command);

// A working tree of a revision in a temporary directory. It is removed when this ends, and also when this
// process is ended, by whatever signal.
class GitWorktree {
 public:
  static Result<GitWorktree> add(const GitRepository& repository, const GitCommit& commit);

  const std::filesystem::path& path() const { return path_; }
  // Removes what a program has left in it or changed.
  Result<> tidy() const;
  // The same, and goes to another revision.
  Result<> visit(const GitCommit& commit) const;

 private:
  GitWorktree(std::filesystem::path path, ConnectedChild janitor)
      : path_(std::move(path)), janitor_(std::move(janitor)) {}
  std::filesystem::path path_;
  ConnectedChild janitor_;  // removes it once the connection is closed
};

}  // namespace opdump::cli
