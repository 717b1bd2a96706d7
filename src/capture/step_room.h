// Whether a budget has room for the steps to come, judged by those that were recorded. After the first one it
// says how much all of them need, and refuses them if that is too much; later it refuses a step that there is
// no room for. A recording within a budget thus ends between two steps, unless the first one exceeds it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "dump/write/budget.h"
#include "plan/step_set.h"

namespace opdump::capture {

// Not thread-safe.
class StepRoom {
 public:
  // `steps`: those that the plan selects. Both must live as long as this.
  StepRoom(std::shared_ptr<const dump::Budget> budget, const plan::StepSet& steps)
      : budget_(std::move(budget)), steps_(steps) {}

  // Whether end_step() needs everything to be written that was recorded: the budget counts what is written,
  // and up to `pending_bytes` may not be.
  bool needs_everything(std::uint64_t pending_bytes) const;

  struct Outlook {
    std::string line;              // for the user; empty: nothing to say
    std::optional<Error> refusal;  // Code::limit: there is no room
    std::uint64_t remaining = 0;   // steps that are selected and come after this one; UINT64_MAX: all
  };
  // The step `step`, which was recorded, has ended.
  Outlook end_step(std::uint64_t step);

 private:
  Outlook first_outlook(std::uint64_t step, std::uint64_t bytes, std::uint64_t remaining) const;

  const std::shared_ptr<const dump::Budget> budget_;
  const plan::StepSet& steps_;
  std::uint64_t spent_before_ = 0;   // when the last step ended
  std::uint64_t largest_bytes_ = 0;  // of a step; 0: none has written anything
};

}  // namespace opdump::capture
