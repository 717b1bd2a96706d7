// The directories of steps that are being written, in any scheme: held open while they are in use, files in
// them under their names or, where a name is too long, under a short one with a line in mapping.csv.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "dump/write/scheme_writer.h"
#include "dump/write/tree_file.h"

namespace opdump::dump {

class StepDirectories {
 public:
  // Where, below the root, the files of a step lie.
  using PathOf = std::function<std::filesystem::path(std::int64_t graph_id, std::int64_t step)>;
  // What a file is called whose name is too long, of its whole path.
  using ShortName = std::function<std::string(const std::filesystem::path& path)>;
  using Write = std::function<Result<>(const Fd& fd, const std::filesystem::path& path)>;

  // Creates `root` and {root}/rank_{R}, which every recording has and whose removal ends it. Errors: io.
  static Result<std::unique_ptr<StepDirectories>> open(const std::filesystem::path& root, std::uint32_t rank,
                                                       PathOf path_of);
  StepDirectories(OpenDirectory root, OpenDirectory rank, PathOf path_of)
      : root_(std::move(root)), rank_(std::move(rank)), path_of_(std::move(path_of)) {}

  const OpenDirectory& root() const { return root_; }

  // In the place of a number that is free.
  void set_short_name(ShortName short_name) { short_name_ = std::move(short_name); }

  // Errors: io -- the recording's directory was removed or moved.
  Result<> check() const { return check_in_place(rank_); }

  // The graph that the address's step is known to be of by now; until then that of the address. Thread-safe.
  std::int64_t graph_of(const SlotAddress& address);

  // The directory of the address's step, created where it is missing. Thread-safe. Errors: io.
  Result<std::shared_ptr<const OpenDirectory>> find(const SlotAddress& address);

  // Creates the file `name`, lets write() fill it and returns its path; a file that could not be filled is
  // removed again. Thread-safe. Errors: io, and those of write().
  Result<std::filesystem::path> create(const SlotAddress& address, std::string name, const Write& write);

  // Gives `file` the further name `name`. Thread-safe. Errors: io.
  Result<> link(const SlotAddress& address, const std::string& name, const std::filesystem::path& file);

  // See SchemeWriter::move_step. Waits until no file is being made; what threads write for `from` afterwards
  // goes to `to`, too.
  Result<> move(std::int64_t step, std::int64_t from, std::int64_t to);

 private:
  Result<std::string> create_short(const OpenDirectory& directory, const std::string& long_name, Fd& fd);
  template <typename F>
  Result<std::string> claim_short_name(const OpenDirectory& directory, const std::string& long_name,
                                       std::uint64_t timestamp_us, const F& claim);
  Result<> append_mapping(const OpenDirectory& directory, const std::string& name,
                          const std::string& long_name);

  std::filesystem::path place_now(const std::filesystem::path& file);

  using Key = std::pair<std::int64_t, std::int64_t>;  // step, graph
  OpenDirectory root_;
  const OpenDirectory rank_;
  const PathOf path_of_;
  ShortName short_name_;
  std::shared_mutex moving_;  // who makes a file shares it; comes before mutex_
  std::mutex mutex_;          // guards the rest, the descriptor of root_ and every mapping.csv
  std::list<std::pair<Key, std::shared_ptr<OpenDirectory>>> opened_;  // the last one used comes first
  std::map<Key, std::int64_t> moved_;  // steps that turned out to be of another graph, the last ones
  std::map<std::filesystem::path, std::filesystem::path> moved_directories_;
};

// Errors: usage -- a name that would not be one directory of its own.
Result<> check_net_name(const std::string& net_name);

// {root}/rank_{R}
std::filesystem::path rank_directory(const std::filesystem::path& root, std::uint32_t rank);

}  // namespace opdump::dump
