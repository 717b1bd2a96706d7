// The slots of a dump in memory, of which there may be millions: of each a row of fixed size, and its texts
// in blocks. A .npy file needs 64 bytes and its name, a row of a table 64 bytes and its values as they are
// printed. What many slots have in common (directory, layout, shape, columns) is kept once.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "base/text/text_arena.h"
#include "dump/read/operator_run.h"

namespace opdump::dump {

// Slots have numbers: 0, 1, ... in the order in which they are added.
class SlotStore {
 public:
  // The name of a file in `directory` is kept without it.
  std::uint32_t add(const Slot& slot, std::string_view directory = {});
  Slot operator[](std::uint32_t number) const;
  std::size_t size() const { return rows_.size(); }

  std::uint64_t timestamp_us(std::uint32_t number) const { return rows_[number].timestamp_us; }
  // What slots of an execution are in order of: inputs by index, then outputs by index.
  std::uint64_t place(std::uint32_t number) const;
  static std::uint64_t place(model::Side side, std::uint32_t index) {
    return static_cast<std::uint64_t>(side) << 32 | index;
  }
  std::uint64_t stored_bytes(std::uint32_t number) const;
  // The slot is a .npy file of its own.
  bool is_npy_file(std::uint32_t number) const;
  // The slot is a row of a table of statistics.
  bool is_table_row(std::uint32_t number) const;

  // Adds what the row of a table knows of a slot.
  void join_table_row(std::uint32_t slot, std::uint32_t row);
  // Takes from `slot` what a look at its file found: sizes, links, shape; no file any more, and why.
  void set_file_facts(std::uint32_t number, const Slot& slot);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // What few kinds of slots have.
  struct Rare {
    format::Extent part;
    std::uint64_t unpacked_bytes = 0;
    LinkedFile linked;
    std::uint32_t argument = kNone, member = kNone, reason = kNone, strides = kNone;  // in names_
    bool has_part = false;
    Packing packing = Packing::none;
    model::DType stored_dtype = model::DType::undefined;
  };
  struct Row {
    std::uint64_t timestamp_us = 0, file_bytes = 0;
    ArenaText file = nullptr, statistics = nullptr;
    std::uint32_t index = 0;
    std::uint32_t directory = kNone, format = kNone, shape = kNone;  // in names_
    std::uint32_t columns = kNone;                                   // in columns_
    std::uint32_t rare = kNone;                                      // in rare_
    model::Side side = model::Side::input;
    model::DType dtype = model::DType::undefined;
  };
  std::uint32_t intern(std::string_view text) { return text.empty() ? kNone : names_.add(text); }
  std::string_view name(std::uint32_t number) const {
    return number == kNone ? std::string_view() : names_[number];
  }
  std::uint32_t intern_shape(const std::optional<model::Shape>& shape);
  std::optional<model::Shape> shape_of(std::uint32_t number) const;
  std::uint32_t intern_columns(const SlotStatistics::Names& names);
  std::uint32_t add_rare(const Slot& slot);

  std::deque<Row> rows_;
  std::deque<Rare> rare_;
  std::vector<SlotStatistics::Names> columns_;  // of the tables
  InternedTexts names_;
  TextArena texts_;
};

}  // namespace opdump::dump
