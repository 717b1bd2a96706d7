#include "msaccucmp/judge/result_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text/text.h"
#include "msaccucmp/judge/fusion_rules.h"

namespace opdump::msaccucmp {

std::int64_t PackedRow::index() const { return parse_int64(cells_.front()).value_or(0); }

void ResultRows::add(const PackedRow& row) { rows_.push_back({row.index(), texts_.add(row.bytes())}); }

void ResultRows::sort() { std::ranges::stable_sort(rows_, {}, &Kept::index); }

Row TableColumns::header() const {
  Row cells = {"Index"};
  if (has_sequence) cells.emplace_back("OpSequence");
  cells.insert(cells.end(), {"OpType", "NPUDump", "DataType"});
  if (has_my_address) cells.emplace_back("Address");
  cells.insert(cells.end(), {"GroundTruth", "DataType"});
  if (has_golden_address) cells.emplace_back("Address");
  cells.insert(cells.end(), {"TensorIndex", "Shape"});
  if (has_overflow) cells.emplace_back("OverFlow");
  cells.insert(cells.end(), algorithms.begin(), algorithms.end());
  cells.emplace_back("CompareFailReason");
  return cells;
}

Row TableColumns::row(int index, std::int64_t sequence, const std::string& my_ops,
                      const std::string& golden_ops, ResultEntry entry) const {
  constexpr std::size_t kOthers = 12;  // than the values, at most
  Row cells;
  cells.reserve(entry.values.size() + kOthers);
  cells.push_back(std::to_string(index));
  if (has_sequence) cells.push_back(std::to_string(sequence));
  cells.push_back(std::move(entry.op_type));
  cells.push_back(my_ops);
  cells.push_back(std::move(entry.my_dtype));
  if (has_my_address) cells.push_back(std::move(entry.my_address));
  cells.push_back(golden_ops);
  cells.push_back(std::move(entry.golden_dtype));
  if (has_golden_address) cells.push_back(std::move(entry.golden_address));
  cells.push_back(std::move(entry.tensor));
  cells.push_back(std::move(entry.shape));
  if (has_overflow) cells.push_back(std::move(entry.overflow));
  std::ranges::move(entry.values, std::back_inserter(cells));
  cells.push_back(join(entry.messages, ","));
  return cells;
}

Row mapping_header(bool has_sequence) {
  Row cells = {"Index"};
  if (has_sequence) cells.emplace_back("OpSequence");
  cells.insert(cells.end(),
               {"OpType", "NPUDump", "GroundTruth", "TensorIndex", "NPUDumpPath", "GroundTruthPath"});
  return cells;
}

}  // namespace opdump::msaccucmp
