// The slots of a directory while it is read, in whatever order its files and rows come, put together to the
// executions of operators.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/text_arena.h"
#include "dump/read/operator_run.h"
#include "dump/read/slot_store.h"

namespace opdump::dump {

// A key names all executions of an operator, or one where the names say which.
struct OperatorKey {
  std::string_view type, name;
  std::uint32_t execution = 0;
  std::optional<std::int64_t> step{};  // where a file states another one than its directory
  std::uint32_t rank = 0;              // counted from that of the directory
};

// A slot, and where its operator ran.
struct PlacedSlot {
  Slot slot;
  std::uint64_t task = 0;
  std::int64_t stream = 0;
};

// An execution: its operator, without rank and graph, and the numbers of its slots in the store, by place.
using TakeExecution = std::function<void(OperatorRun run, std::span<const std::uint32_t> slots)>;

class SlotsByOperator {
 public:
  // Most files lie in `directory`.
  SlotsByOperator(SlotStore& store, std::string directory)
      : store_(store), directory_(std::move(directory)) {}

  void add(const OperatorKey& op, const PlacedSlot& placed);

  // Calls `take` with all executions, those of an operator one after the other, by time. Operators come in
  // the order in which they were met, which in an archive or a table is often that of execution; those of
  // another step after the others. A file and a row of a table that agree in time, side and index are one
  // slot. A slot whose place is occupied means that the operator ran again. Call it once.
  void drain(const TakeExecution& take);

 private:
  struct MetOperator {
    std::uint32_t type = 0, name = 0;  // in names_
    std::uint32_t execution = 0;
    std::optional<std::int64_t> step;
    std::uint32_t rank = 0;
    auto operator<=>(const MetOperator&) const = default;
  };
  struct OperatorHash {
    std::size_t operator()(const MetOperator& op) const;
  };
  struct SlotEntry {
    std::uint32_t op = 0, slot = 0;
    std::uint64_t timestamp_us = 0, task = 0;
    std::int64_t stream = 0;
  };
  void sort();
  OperatorRun run_of(const SlotEntry& entry) const;

  SlotStore& store_;
  std::string directory_;
  InternedTexts names_;
  std::vector<MetOperator> operators_;  // in the order in which they were met
  std::unordered_map<MetOperator, std::uint32_t, OperatorHash> numbers_;
  std::vector<SlotEntry> entries_;
};

}  // namespace opdump::dump
