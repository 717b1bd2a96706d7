// Reads a dump in stages. Of
//
//   dump/rank_0/opdump_status.json, operators.jsonl
//   dump/rank_0/net/0/3/statistic.csv, Add.Default_Add-op0.0.0.1700000000000000.output.0.DefaultFormat.npy
//
// 1. DirectoryWalk finds dump/rank_0/net/0/3, by its names graph 0 and step 3 of rank 0 (tree_location.h);
// 2. read_step reads its names and tables: one execution of "Default_Add-op0" with output.0, whose row and
// file
//    are one slot; check_tensor_files reads the headers of .npy files, many at a time;
// 3. directories that bear a device get their rank, constants their step, and join_log names the executions:
//    "Default/Add-op0", forward, "train.py:12";
// 4. Runs::sort puts the executions in order: the index that DumpSet shows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "dump/read/dump_set.h"
#include "dump/read/files/directory_walk.h"
#include "dump/read/networks.h"

namespace opdump::dump {

class DumpSetReader {
 public:
  // `followed` keeps what was read of files that only grow, for the next time. Errors: as DumpSet::open.
  static Result<DumpSet> read(const std::filesystem::path& path, const LogSink& log,
                              FingerprintFiles* followed = nullptr);

 private:
  // Where executions were found.
  struct SectionOrigin {
    std::uint32_t rank = 0;  // as the path has it
    bool is_by_device = false, is_constants = false;
  };
  explicit DumpSetReader(DirectoryWalk walk) : walk_(std::move(walk)) {}

  Result<> read_steps();
  void read_directory(StepDirectory step);
  void check_files();
  std::uint32_t number_operator(std::uint32_t rank, const LoggedOperator& op);
  std::uint32_t number_process(std::uint32_t process);
  Error nothing_found() const;
  std::uint32_t add_section(const Location& location, const OperatorRun& run, const std::string& network);
  void add_overflow(const Location& location, Overflow overflow);
  void add_status(std::uint32_t rank, RecordingStatus status);

  void find_ranks();
  void place_devices();
  void place_constants();
  Result<> read_rank(std::uint32_t rank, const std::filesystem::path& directory);
  void check_unread(std::uint32_t rank, const RecordingStatus& status);
  void check_run_ids();
  void name_models();
  void log_older(const LogSink& log) const;

  DirectoryWalk walk_;
  FingerprintFiles* followed_ = nullptr;
  DumpSet set_;
  std::vector<std::uint32_t> unchecked_;  // slots whose files are to be looked at
  std::vector<SectionOrigin> origins_;    // of each section
  Networks networks_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t>
      described_;                                // operators of files that describe them
  std::vector<std::uint32_t> processes_;         // that stand for ranks, in the order in which they were met
  std::vector<Overflow> device_overflows_;       // of trees that know devices only
  std::set<std::uint32_t> devices_;              // that count as ranks so far
  std::set<std::string> times_;                  // directories of times that were read
  std::map<std::string, std::uint64_t> absent_;  // operators that graphs executed, and nothing is there of
  std::optional<std::filesystem::path> beside_;  // the root of a tree whose ranks do not lead to its steps
};

}  // namespace opdump::dump
