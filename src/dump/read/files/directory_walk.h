// Finds the directories of a dump that hold files of steps: the first stage of reading it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "dump/read/problems.h"
#include "dump/read/step_reader.h"
#include "dump/read/tree_location.h"

namespace opdump::dump {

// A directory with files of a step, and what the names of the directories say that lead to it.
struct StepDirectory {
  StepFiles files;
  Location location;
  const std::vector<std::string>& trail;  // from the file system's root to the directory itself
  std::size_t first_inside = 0;           // of these, the first below what the user opened
};

class DirectoryWalk {
 public:
  // `path` is a directory, anywhere in a tree, or a file. Errors: not_found, io.
  static Result<DirectoryWalk> begin(const std::filesystem::path& path);

  // Calls `visit` for each directory with files of a step, in the order of their names. What cannot be listed
  // or is not looked at goes to `problems`. Errors: io -- `path` itself cannot be listed.
  using Visit = std::function<void(StepDirectory step)>;
  Result<> run(Problems& problems, const Visit& visit);

  bool is_file() const { return is_file_; }
  // rank_N below what was opened, and the one above it.
  const std::map<std::uint32_t, std::filesystem::path>& rank_directories() const { return ranks_; }
  // Only the last one of several {time}/{device}/{net} is visited: these are the others.
  const std::set<std::filesystem::path>& older() const { return older_; }

 private:
  // The directories in a directory.
  struct Subdirectories {
    std::set<std::string> names, times;  // of the names, those that are times
  };
  Result<> walk(const std::filesystem::path& directory, std::size_t depth);
  Result<> visit_files_in(const std::filesystem::path& directory, Subdirectories& inside);
  void add_entry(const std::filesystem::directory_entry& entry, StepFiles& files, Subdirectories& inside);
  void leave_out_older(const std::filesystem::path& directory, const std::set<std::string>& times);
  void visit_file_alone();
  void visit(StepFiles files);
  std::string prefix_of(const Location& location) const;

  std::filesystem::path path_;
  std::vector<std::string> trail_;  // to the directory that is being visited
  std::size_t first_inside_ = 0;
  std::size_t unnamed_ = SIZE_MAX;  // of trail_, what is no part of an operator's name
  bool is_file_ = false;
  std::map<std::uint32_t, std::filesystem::path> ranks_;
  std::set<std::filesystem::path> older_;
  Problems* problems_ = nullptr;  // of run()
  const Visit* visit_ = nullptr;  // of run()
};

// rank_N right in `directory`.
std::map<std::uint32_t, std::filesystem::path> find_ranks_in(const std::filesystem::path& directory);

}  // namespace opdump::dump
