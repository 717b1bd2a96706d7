// The slots of a directory while it is read, in whatever order its files and rows come, put together by
// operator.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/record_sorter.h"
#include "dump/read/operator_run.h"
#include "dump/read/slot_packer.h"

namespace opdump::dump {

// All executions of an operator, or one where the names tell which.
struct OperatorKey {
  std::string type, name;
  std::uint32_t execution = 0;
  std::optional<std::int64_t> step{};  // where a file tells another one than its directory
  auto operator<=>(const OperatorKey&) const = default;
};

// A slot, and where its operator ran.
struct PlacedSlot {
  Slot slot;
  std::uint64_t task = 0;
  std::int64_t stream = 0;
};

// The slots of a directory, of which there may be very many.
class SlotsByOperator {
 public:
  // Most files lie in `directory`.
  explicit SlotsByOperator(std::string directory) : directory_(std::move(directory)) {}

  void add(const OperatorKey& op, const PlacedSlot& placed);

  // Calls `take` with all slots, those of an operator one after the other: by time, side and index, and as
  // they were added. Operators come in the order in which they were met, which in an archive or a table is
  // often that of execution; those of another step after the others. To be called once. Errors: io, and those
  // of `take`.
  using Take = std::function<Result<>(const OperatorKey& op, PlacedSlot placed)>;
  Result<> drain(const Take& take);

 private:
  Result<> note_firsts();

  std::string directory_;
  RecordSorter by_name_;      // operator, when it was added; then order and slot as in by_operator_
  RecordSorter by_operator_;  // step, when the operator was first met, order of the slot; operator, slot
  SlotPacker packer_;
  std::string record_;  // kept for its memory
};

}  // namespace opdump::dump
