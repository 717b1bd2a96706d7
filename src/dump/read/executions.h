// The slots of an operator, put together to its executions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/key_numbers.h"
#include "base/record_sorter.h"
#include "base/result.h"
#include "dump/read/operator_run.h"
#include "dump/read/slot_packer.h"
#include "dump/read/slots_by_operator.h"

namespace opdump::dump {

// The places of an execution's slots, of which there may be very many.
class SeenSlots {
 public:
  // Takes `place`; false if it was taken. Errors: io -- there is no room.
  Result<bool> take(std::uint64_t place);
  void clear() { *this = {}; }

 private:
  std::set<std::uint64_t> few_;
  KeyNumbers many_;  // those beyond
};

// Takes slots in the order of SlotsByOperator::drain and gives executions, without rank and graph. A file and
// a row of a table that agree in time, side and index are one slot. A slot whose place was taken already
// means that the operator ran again.
class Executions {
 public:
  explicit Executions(const TakeRun& take) : take_(take) {}

  // Errors: io -- there is no room for very many slots.
  Result<> add(const OperatorKey& op, PlacedSlot placed);
  Result<> finish();  // after the last one

 private:
  Result<> add_last();
  void put_slots_aside();
  Result<> finish_run();
  Result<> give_parts();

  const TakeRun& take_;
  OperatorKey op_;
  std::optional<PlacedSlot> last_;  // a row may join it
  bool wants_row_ = false;
  OperatorRun run_;
  SeenSlots taken_;         // by the slots of run_
  RecordSorter put_aside_;  // all slots of run_ once they are very many: place, slot
  SlotPacker packer_;
  std::string record_;  // kept for its memory
};

}  // namespace opdump::dump
