// The slots of a directory while it is read, in whatever order its files and rows come, put together by
// operator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/packing.h"
#include "base/text_blocks.h"
#include "dump/operator_run.h"
#include "dump/slot_packer.h"

namespace opdump::dump {

// All executions of an operator, or one where the names tell which.
struct OperatorKey {
  std::string type, name;
  std::uint32_t execution = 0;
  std::uint64_t task = 0;  // these two are those of the last slot
  std::int64_t stream = 0;
};

// The slots of a directory, which may be very many: up to 4 GiB of them, packed.
class SlotsByOperator {
 public:
  // Most files lie in `directory`.
  explicit SlotsByOperator(std::string directory) : directory_(std::move(directory)) {}

  void add(const OperatorKey& op, const Slot& slot) {
    key_.clear();
    Packer key(key_);
    key.text(op.type);
    key.text(op.name);
    key.number(op.execution);
    const bool is_last = !records_.empty() && texts_.at(records_.back().op) == key_;
    const auto op_place = is_last ? records_.back().op : texts_.add(key_);
    packed_.clear();
    Packer packed(packed_);
    packed.number(op.task);
    packed.signed_number(op.stream);
    packer_.pack(packed_, slot, directory_);
    const auto slot_place = texts_.add(packed_);
    if (op_place && slot_place)
      records_.push_back({*op_place, *slot_place});
    else
      ++left_out_;
  }
  std::uint64_t left_out() const { return left_out_; }  // how many there was no room for

  // Calls `take` with each operator and its slots, in the order in which they were met: that of an archive or
  // a table is often the order of execution. To be called once.
  template <typename Take>
  void drain(const Take& take) {
    std::ranges::sort(records_, {},
                      [&](const Record& record) { return std::pair(texts_.at(record.op), record.slot); });
    const auto is_first = [&](std::size_t i) {
      return i == 0 || texts_.at(records_[i].op) != texts_.at(records_[i - 1].op);
    };
    std::vector<std::uint32_t> firsts;  // of each operator's records
    for (std::size_t i = 0; i < records_.size(); ++i)
      if (is_first(i)) firsts.push_back(static_cast<std::uint32_t>(i));
    std::ranges::sort(firsts, {}, [&](std::uint32_t i) { return records_[i].slot; });
    for (std::size_t i : firsts) {
      OperatorKey op = unpack(texts_.at(records_[i].op));
      std::vector<Slot> slots;
      do {
        Unpacker in(texts_.at(records_[i].slot));
        op.task = in.number();
        op.stream = in.signed_number();
        slots.push_back(packer_.unpack(in, directory_));
      } while (++i < records_.size() && !is_first(i));
      take(op, std::move(slots));
    }
  }

 private:
  struct Record {
    std::uint32_t op = 0, slot = 0;  // in texts_; those of slots rise
  };
  static OperatorKey unpack(std::string_view bytes) {
    Unpacker in(bytes);
    OperatorKey op;
    op.type = in.text();
    op.name = in.text();
    op.execution = static_cast<std::uint32_t>(in.number());
    return op;
  }

  std::string directory_;
  std::vector<Record> records_;
  TextBlocks texts_;
  std::uint64_t left_out_ = 0;
  SlotPacker packer_;
  std::string key_, packed_;  // kept for their memory
};

}  // namespace opdump::dump
