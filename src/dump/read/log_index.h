// The operators of a rank's log by the names that files and lines have for them, and those of its slots that
// have no data. What is kept of each is in Runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "dump/operator_log.h"
#include "dump/read/runs.h"

namespace opdump::dump {

// Numbers of operators are those of Runs.
class LogIndex {
 public:
  explicit LogIndex(Runs& runs) : runs_(runs), before_(runs.last_operator()) {}

  // Adds what the log says to the runs. Returns how many of its lines are damaged. Errors: as
  // read_operator_log.
  Result<std::uint64_t> read(const std::filesystem::path& rank_directory);

  // The operator of an execution; 0 if there is none. It is then known to have run in that step.
  std::uint32_t find(const OperatorRun& run);

  // A slot without data was met first in this step, and find() has found no execution of its operator there.
  struct Absent {
    std::uint32_t op = 0;
    std::int64_t step = 0;
  };
  std::vector<Absent> absent() const;

 private:
  // The keys are hashes of names.
  using Numbers = std::unordered_map<std::uint64_t, std::uint32_t>;
  void add(const LoggedOperator& op);
  void add(const UndumpedSlot& slot);
  void add(const LoggedForm& call);
  void add(const LoggedLayout& layout);
  void add(LoggedWiring logged);
  void add_converted_names();
  std::uint32_t find_named(const OperatorRun& run);

  Runs& runs_;
  std::uint32_t before_;  // how many operators other logs have
  Numbers by_full_name_, by_file_name_, by_converted_name_;
  bool has_converted_names_ = false;
  std::vector<Absent> met_;                          // operators with slots without data; each step once
  std::unordered_map<std::uint64_t, bool> has_run_;  // by operator and step of met_
};

}  // namespace opdump::dump
