// The operators of a rank's log by the names that files and lines have for them, and those of its slots that
// have no data. There may be very many: what is kept of each is in Runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/key_numbers.h"
#include "base/result.h"
#include "base/scratch_vector.h"
#include "dump/operator_log.h"
#include "dump/read/runs.h"

namespace opdump::dump {

// Numbers of operators are those of Runs. All may fail with io: there is no room.
class LogIndex {
 public:
  explicit LogIndex(Runs& runs) : runs_(runs), before_(runs.last_operator()) {}

  // Adds what the log says to the runs. Returns how many of its lines are damaged. Errors: as
  // read_operator_log.
  Result<std::uint64_t> read(const std::filesystem::path& rank_directory);

  // The operator of an execution; 0 if there is none. It is then known to have run in that step.
  Result<std::uint32_t> find(const OperatorRun& run);

  // Calls visit(operator, step) where a slot without data was met first, if find() has found no execution of
  // the operator in that step.
  Result<> visit_absent(const std::function<Result<>(std::uint32_t number, std::int64_t step)>& visit);

 private:
  struct Met {
    std::int64_t step = 0;
    std::uint32_t op = 0;
  };
  Result<> add(const LoggedOperator& op);
  Result<> add(const UndumpedSlot& slot);
  Result<> add_converted_names();
  Result<std::uint32_t> find_named(const OperatorRun& run);

  Runs& runs_;
  std::uint32_t before_;  // how many operators other logs have
  KeyNumbers by_full_name_, by_file_name_, by_converted_name_;
  bool has_converted_names_ = false;
  ScratchVector<Met> met_;  // slots without data
  KeyNumbers states_;       // of operators in steps
};

}  // namespace opdump::dump
