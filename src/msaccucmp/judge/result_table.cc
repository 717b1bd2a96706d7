#include "msaccucmp/judge/result_table.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "msaccucmp/judge/fusion_rules.h"

namespace opdump::msaccucmp {
namespace {

using Length = std::uint32_t;  // of a row

constexpr std::uint64_t kFetchedBytes = 1 << 20, kFetchedBytesOfOne = 4096;

void put_length(std::string& bytes, Length length) {
  bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
}

}  // namespace

std::int64_t PackedRow::index() const { return parse_int64(cells_.front()).value_or(0); }

void ResultRows::add(const PackedRow& row) {
  const std::int64_t index = row.index();
  is_sorted_ = is_sorted_ && index >= last_index_;
  last_index_ = index;
  std::string length;
  put_length(length, static_cast<Length>(row.bytes().size()));
  spill_.append(length);
  spill_.append(row.bytes());
  ++size_;
}

Result<> ResultRows::visit(const std::function<Result<bool>(const PackedRow&)>& look) const {
  constexpr std::size_t kAtOnce = 1024;
  for (Reader reader(*this);;) {
    OPDUMP_TRY(const std::vector<PackedRow> rows, reader.next(kAtOnce));
    if (rows.empty()) return ok();
    for (const PackedRow& row : rows) {
      OPDUMP_TRY(const bool goes_on, look(row));
      if (!goes_on) return ok();
    }
  }
}

Result<std::vector<PackedRow>> ResultRows::Reader::next(std::size_t most) {
  if (done_ == 0 && !rows_.is_sorted_) OPDUMP_CHECK_OK(sort());
  std::vector<PackedRow> rows;
  for (; rows.size() < most && done_ < rows_.size(); ++done_) {
    if (!order_.empty()) at_ = order_[done_].at;
    OPDUMP_TRY(PackedRow row, read_row());
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<> ResultRows::Reader::sort() {
  std::vector<RowPosition> order;
  order.reserve(rows_.size());
  for (at_ = 0; order.size() < rows_.size();) {
    const std::uint64_t at = at_;
    OPDUMP_TRY(const PackedRow row, read_row());
    order.push_back({row.index(), at});
  }
  order_ = std::move(order);
  std::ranges::sort(order_, {}, [](const RowPosition& row) { return std::pair(row.index, row.at); });
  return ok();
}

Result<PackedRow> ResultRows::Reader::read_row() {
  Length length = 0;
  const std::uint64_t more = order_.empty() ? kFetchedBytes : kFetchedBytesOfOne;
  OPDUMP_CHECK_OK(fetch(sizeof(length), more));
  std::memcpy(&length, fetched_.data() + (at_ - fetched_from_), sizeof(length));
  at_ += sizeof(length);
  OPDUMP_CHECK_OK(fetch(length, more));
  PackedRow row = PackedRow::of_bytes(fetched_.substr(at_ - fetched_from_, length));
  at_ += length;
  return row;
}

// Sees to it that `bytes` from at_ on are there; `more` of them if they are not.
Result<> ResultRows::Reader::fetch(std::uint64_t bytes, std::uint64_t more) {
  const bool is_there = at_ >= fetched_from_ && at_ + bytes <= fetched_from_ + fetched_.size();
  if (is_there) return ok();
  fetched_.resize(std::min(std::max(bytes, more), rows_.spill_.size() - at_));
  fetched_from_ = at_;
  return rows_.spill_.read(at_, fetched_);
}

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
