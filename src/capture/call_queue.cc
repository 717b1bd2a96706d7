#include "capture/call_queue.h"

#include <utility>

namespace opdump::capture {
namespace {

// A program ends as many between two turns of the writer; each has some kilobytes.
constexpr std::size_t kMaxFree = 2048;

}  // namespace

void ReturnCall::operator()(Call* call) const { queue->put_back(call); }

CallPointer CallQueue::make() {
  std::unique_ptr<Call> call;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      call = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!call) call = std::make_unique<Call>();
  return adopt(call.release());
}

void CallQueue::put_back(Call* raw) {
  std::unique_ptr<Call> call(raw);
  call->slots.clear();
  call->undumped.clear();
  call->kept.clear();
  call->may_ask = false;
  call->inputs.clear();
  call->wiring.clear();
  call->arguments.clear();
  call->is_noted = false;
  call->overflowed.reset();
  call->container.reset();
  call->detail = {};
  call->reads_non_finite = false;
  const std::lock_guard lock(mutex_);
  if (free_.size() < kMaxFree) free_.push_back(std::move(call));
}

std::size_t CallQueue::push(CallPointer call) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(call));
  return taken_count_ + waiting_.size();
}

CallPointer CallQueue::pop_done() {
  if (taken_.empty()) {
    const std::lock_guard lock(mutex_);
    taken_.swap(waiting_);
    taken_count_ = taken_.size();
  }
  if (taken_.empty() || !taken_.front()->is_done()) return adopt(nullptr);
  CallPointer call = std::move(taken_.front());
  taken_.pop_front();
  return call;
}

}  // namespace opdump::capture
