// The slots of an operator, put together to its executions.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "dump/operator_run.h"
#include "dump/slots_by_operator.h"

namespace opdump::dump {

// Takes slots in the order of SlotsByOperator::drain and gives executions, without rank and graph. A file and
// a row of a table that agree in time, side and index are one slot. A slot whose place was taken already
// means that the operator ran again.
class Executions {
 public:
  explicit Executions(const TakeRun& take) : take_(take) {}

  void add(const OperatorKey& op, PlacedSlot placed);
  void finish();  // after the last one

 private:
  void add_last();
  void finish_run();

  const TakeRun& take_;
  OperatorKey op_;
  std::optional<PlacedSlot> last_;  // a row may join it
  bool wants_row_ = false;
  OperatorRun run_;
  std::set<std::pair<model::Side, std::uint32_t>> taken_;  // places in run_
};

}  // namespace opdump::dump
