// The table of a comparison in the manner of msaccucmp: which columns there are, and what a row holds
// (cann.md 4.6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/packed_texts.h"
#include "base/text.h"

namespace opdump::compare {

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

// A finished row in one piece: a dump can have a million of them.
class PackedRow {
 public:
  PackedRow(const Row& cells) : cells_(cells) {}  // NOLINT: a row, kept
  Row cells() const { return cells_.texts(); }
  std::int64_t index() const { return parse_int64(cells_.front()).value_or(0); }  // the first cell
  std::size_t size() const { return cells_.size(); }  // about that of its line in a table

 private:
  PackedTexts cells_;
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

}  // namespace opdump::compare
