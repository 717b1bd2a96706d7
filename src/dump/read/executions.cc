#include "dump/read/executions.h"

#include <algorithm>
#include <tuple>

#include "base/packing.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kOutputs = std::uint64_t{1} << 32;  // come behind all inputs

std::uint64_t place(const Slot& slot) {
  return std::uint64_t{slot.index} | (slot.side == model::Side::output ? kOutputs : 0);
}
auto moment(const Slot& slot) { return std::tuple(slot.timestamp_us, slot.side, slot.index); }

bool is_row(const Slot& slot) { return slot.file.empty() && slot.undumped_reason.empty(); }

// What the row of a table knows of the slot.
void join_row(Slot& slot, Slot row) {
  if (!slot.part) slot.shape = std::move(row.shape);
  slot.statistics = std::move(row.statistics);
  if (slot.dtype == model::DType::undefined) slot.dtype = row.dtype;
}

}  // namespace

Result<bool> SeenSlots::take(std::uint64_t place) {
  if (few_.contains(place)) return false;
  if (few_.size() < kSlotsInPart) return few_.insert(place).second;
  OPDUMP_TRY(std::uint64_t* const taken, many_.at(place + 1));  // no key is 0
  return std::exchange(*taken, 1) == 0;
}

Result<> Executions::add(const OperatorKey& op, PlacedSlot placed) {
  if (op != op_) {
    OPDUMP_CHECK_OK(finish());
    op_ = op;
  }
  if (last_ && wants_row_ && is_row(placed.slot) && moment(last_->slot) == moment(placed.slot)) {
    join_row(last_->slot, std::move(placed.slot));
    wants_row_ = false;
    return ok();
  }
  OPDUMP_CHECK_OK(add_last());
  wants_row_ = !is_row(placed.slot);
  last_ = std::move(placed);
  return ok();
}

Result<> Executions::add_last() {
  if (!last_) return ok();
  OPDUMP_TRY(bool is_new, taken_.take(place(last_->slot)));
  if (!is_new) {
    OPDUMP_CHECK_OK(finish_run());
    OPDUMP_TRY(is_new, taken_.take(place(last_->slot)));
  }
  if (run_.slots.empty() && put_aside_.size() == 0) {
    run_.step = op_.step.value_or(0);
    run_.type = op_.type;
    run_.name = op_.name;
    run_.task = last_->task;
    run_.stream = last_->stream;
  }
  run_.slots.push_back(std::move(last_->slot));
  last_.reset();
  if (run_.slots.size() == kSlotsInPart) put_slots_aside();
  return ok();
}

void Executions::put_slots_aside() {
  for (const Slot& slot : run_.slots) {
    record_.clear();
    SortKey(record_).number(place(slot));
    packer_.pack(record_, slot, {});
    put_aside_.add(record_);
  }
  run_.slots.clear();
}

Result<> Executions::finish_run() {
  if (put_aside_.size() > 0) {
    OPDUMP_CHECK_OK(give_parts());
  } else if (!run_.slots.empty()) {
    std::ranges::sort(run_.slots, {}, place);
    take_(std::exchange(run_, {}));
  }
  taken_.clear();
  return ok();
}

Result<> Executions::give_parts() {
  put_slots_aside();
  std::uint64_t left = put_aside_.size();
  OPDUMP_CHECK_OK(put_aside_.visit([&](std::string_view record) {
    SortKeyReader key(record);
    key.number();
    Unpacker slot(key.rest());
    run_.slots.push_back(packer_.unpack(slot, {}));
    run_.has_more = --left > 0;
    if (!run_.has_more) {
      take_(std::exchange(run_, {}));
    } else if (run_.slots.size() == kSlotsInPart) {
      take_(run_);
      run_.slots.clear();
    }
    return ok();
  }));
  put_aside_ = {};
  return ok();
}

Result<> Executions::finish() {
  OPDUMP_CHECK_OK(add_last());
  return finish_run();
}

}  // namespace opdump::dump
