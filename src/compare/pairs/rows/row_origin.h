// Where another number of rows comes from: from the data of the program, or from what an operator computed.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "compare/pairs/rows/paired_runs.h"

namespace opdump::compare {

enum class RowOrigin : std::uint8_t {
  data,      // the program read it, made it, or chose some of it
  paired,    // an operator of both runs computed it, which has other rows already
  computed,  // operators of both runs computed the same of it: rows were lost or put in behind them
};

class RowOrigins {
 public:
  explicit RowOrigins(const PairedRuns& runs) : runs_(runs) {}

  // Of an input of an execution, as the wiring has it.
  RowOrigin of(bool is_golden, std::uint32_t reader, std::uint32_t input);

 private:
  RowOrigin of_result(bool is_golden, std::uint32_t execution);
  RowOrigin of_inputs(bool is_golden, std::uint32_t execution);

  const PairedRuns& runs_;
  std::map<std::pair<bool, std::uint32_t>, RowOrigin> known_;
};

}  // namespace opdump::compare
