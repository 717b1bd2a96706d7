// Where another number of rows comes from: from the data of the program, or from what an operator computed.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "compare/pairs/rows/paired_runs.h"

namespace opdump::compare {

enum class RowOrigin : std::uint8_t {
  data,      // the program read it or made it, or it is a view of that
  chosen,    // an operator outside the model chose some of it, put it together or padded it
  paired,    // an operator of both runs computed it, which has other rows already; or nobody knows
  computed,  // operators of both runs computed the same of it: rows were lost or put in behind them
};

class RowOrigins {
 public:
  explicit RowOrigins(const PairedRuns& runs);

  // Of an input of an execution, as the wiring has it.
  RowOrigin of(bool is_golden, std::uint32_t reader, std::uint32_t input);

  // Whether an execution outside the model gives elements of data as they are.
  bool only_chooses(bool is_golden, std::uint32_t execution);

 private:
  bool prepares_data(bool is_golden, std::uint32_t execution) const;
  bool chooses_places(bool is_golden, std::uint32_t execution) const;
  RowOrigin of_result(bool is_golden, std::uint32_t execution);
  RowOrigin of_inputs(bool is_golden, std::uint32_t execution);

  const PairedRuns& runs_;
  std::uint32_t golden_before_, actual_before_;  // executions before the model runs
  std::map<std::pair<bool, std::uint32_t>, RowOrigin> known_;
};

}  // namespace opdump::compare
