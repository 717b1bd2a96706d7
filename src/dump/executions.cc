#include "dump/executions.h"

#include <algorithm>
#include <tuple>

namespace opdump::dump {
namespace {

std::pair<model::Side, std::uint32_t> place(const Slot& slot) { return {slot.side, slot.index}; }
auto moment(const Slot& slot) { return std::tuple(slot.timestamp_us, slot.side, slot.index); }

bool is_row(const Slot& slot) { return slot.file.empty() && slot.undumped_reason.empty(); }

// What the row of a table knows of the slot.
void join_row(Slot& slot, Slot row) {
  if (!slot.part) slot.shape = std::move(row.shape);
  slot.statistics = std::move(row.statistics);
  if (slot.dtype == model::DType::undefined) slot.dtype = row.dtype;
}

}  // namespace

void Executions::add(const OperatorKey& op, PlacedSlot placed) {
  if (op != op_) {
    finish();
    op_ = op;
  }
  if (last_ && wants_row_ && is_row(placed.slot) && moment(last_->slot) == moment(placed.slot)) {
    join_row(last_->slot, std::move(placed.slot));
    wants_row_ = false;
    return;
  }
  add_last();
  wants_row_ = !is_row(placed.slot);
  last_ = std::move(placed);
}

void Executions::add_last() {
  if (!last_) return;
  if (taken_.contains(place(last_->slot))) finish_run();
  if (taken_.empty()) {
    run_.step = op_.step.value_or(0);
    run_.type = op_.type;
    run_.name = op_.name;
    run_.task = last_->task;
    run_.stream = last_->stream;
  }
  taken_.insert(place(last_->slot));
  run_.slots.push_back(std::move(last_->slot));
  last_.reset();
}

void Executions::finish_run() {
  if (run_.slots.empty()) return;
  std::ranges::sort(run_.slots, {}, place);
  take_(std::exchange(run_, {}));
  taken_.clear();
}

void Executions::finish() {
  add_last();
  finish_run();
}

}  // namespace opdump::dump
