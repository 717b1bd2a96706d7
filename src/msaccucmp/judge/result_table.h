// The table of a comparison in the manner of msaccucmp: which columns there are, and what a row holds
// (cann.md 4.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/packed_texts.h"
#include "base/text/text_arena.h"

namespace opdump::msaccucmp {

// One tensor, or an operator of which nothing could be compared.
struct ResultEntry {
  std::string op_type, my_dtype = "NaN", my_address = "NaN", golden_dtype = "NaN", golden_address = "NaN";
  std::string tensor = "NaN";  // "conv1:output:0"
  std::string shape = "NaN";   // "[1,20,4,4]"
  std::string overflow = "NaN";
  std::vector<std::string> values;    // of the algorithms
  std::vector<std::string> messages;  // why not
  bool is_compared = false;           // the values are numbers
};

using Row = std::vector<std::string>;

// A finished row in one piece.
class PackedRow {
 public:
  PackedRow(const Row& cells) : cells_(cells) {}  // NOLINT: a row, kept
  static PackedRow of_bytes(std::string bytes) { return PackedRow(PackedTexts::of_bytes(std::move(bytes))); }
  Row cells() const { return cells_.texts(); }
  std::int64_t index() const;  // the first cell
  std::string_view bytes() const { return cells_.bytes(); }

 private:
  explicit PackedRow(PackedTexts cells) : cells_(std::move(cells)) {}
  PackedTexts cells_;
};

// The rows of a table: there can be millions, so they lie one behind the other.
class ResultRows {
 public:
  void add(const PackedRow& row);
  void sort();  // by index; rows of equal ones stay as they were added
  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  Row operator[](std::size_t i) const { return PackedTexts::unpack(TextArena::view(rows_[i].packed)); }

 private:
  struct Kept {
    std::int64_t index = 0;
    ArenaText packed = nullptr;
  };
  TextArena texts_;
  std::vector<Kept> rows_;
};

struct TableColumns {
  bool has_sequence = false;   // OpSequence: a part of the operators was chosen
  bool has_overflow = false;   // OverFlow
  bool has_my_address = true;  // .npy files have none
  bool has_golden_address = true;
  std::vector<std::string> algorithms;

  Row header() const;
  // `my_ops` and `golden_ops` are the operators of the group, or "*".
  Row row(int index, std::int64_t sequence, const std::string& my_ops, const std::string& golden_ops,
          ResultEntry entry) const;
};

// -map: which files belong to which.
Row mapping_header(bool has_sequence);

}  // namespace opdump::msaccucmp
