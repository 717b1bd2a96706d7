// The table of a comparison in the manner of msaccucmp: which columns there are, and what a row holds
// (cann.md 4.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/packed_texts.h"
#include "base/result.h"
#include "base/spill.h"

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

// The rows of a table: there can be millions, so they are put aside.
class ResultRows {
 public:
  void add(const PackedRow& row);
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Calls `look` with each row, as Reader has them, until it returns false. Errors: io; those of `look`.
  Result<> visit(const std::function<Result<bool>(const PackedRow&)>& look) const;

  // Reads rows by their index; those of equal ones as they were added. None is added meanwhile.
  class Reader {
   public:
    explicit Reader(const ResultRows& rows) : rows_(rows) {}
    // The next `most` rows, or all that are left: none at the end. Errors: io.
    Result<std::vector<PackedRow>> next(std::size_t most);

   private:
    struct RowPosition {
      std::int64_t index = 0;
      std::uint64_t at = 0;
    };
    Result<> sort();
    Result<PackedRow> read_row();
    Result<> fetch(std::uint64_t bytes, std::uint64_t more);
    const ResultRows& rows_;
    std::vector<RowPosition> order_;           // of all rows, unless they are in order
    std::size_t done_ = 0;                     // rows
    std::uint64_t at_ = 0, fetched_from_ = 0;  // in what is put aside
    std::string fetched_;
  };

 private:
  Spill spill_;  // each row after its length
  std::size_t size_ = 0;
  std::int64_t last_index_ = INT64_MIN;
  bool is_sorted_ = true;
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
