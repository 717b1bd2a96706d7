// The calls of a session: from the queue of ended ones, those that are done leave in order of execution. What
// is done with a call keeps its memory for the next one.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "capture/call.h"

namespace opdump::capture {

class CallQueue;

struct ReturnCall {
  CallQueue* queue;
  void operator()(Call* call) const;
};
using CallPointer = std::unique_ptr<Call, ReturnCall>;  // the call returns to its queue

// This is thread-safe, but only one thread at a time may pop. Its lock is held for nothing else of the
// session.
class CallQueue {
 public:
  CallQueue() = default;
  ~CallQueue() {  // while there is a queue to return them to
    taken_.clear();
    waiting_.clear();
  }
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  CallPointer make();
  CallPointer adopt(Call* call) { return {call, ReturnCall{this}}; }

  // An ended call; returns how many wait now, at most.
  std::size_t push(CallPointer call);
  // The first call, if its jobs are done; else null.
  CallPointer pop_done();

 private:
  friend struct ReturnCall;
  void put_back(Call* call);

  // The thread that pops takes all that waited at once: a lock for each call made threads that push sleep.
  std::deque<CallPointer> taken_;
  std::mutex mutex_;  // guards the rest
  std::deque<CallPointer> waiting_;
  std::size_t taken_count_ = 0;
  std::vector<std::unique_ptr<Call>> free_;
};

}  // namespace opdump::capture
