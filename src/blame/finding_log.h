// What was found on the way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "blame/answer.h"
#include "blame/suspects.h"

namespace opdump::blame {

class FindingLog {
 public:
  // They go into `answer`.
  FindingLog(const Suspects& suspects, BlameAnswer& answer) : suspects_(suspects), answer_(answer) {}

  // Adds a finding about suspect `i`.
  Finding& add(std::uint32_t i, Cause cause, Confidence confidence, std::string slot, std::string why) {
    Finding& finding = answer_.findings.emplace_back();
    finding.cause = cause;
    finding.confidence = confidence;
    finding.op = suspects_[i];
    finding.executions = {i};
    certain_ += confidence == Confidence::certain;
    finding.slot = std::move(slot);
    finding.why = std::move(why);
    return finding;
  }

  // The last one explains those before it.
  void move_to_front() {
    std::rotate(answer_.findings.begin(), answer_.findings.end() - 1, answer_.findings.end());
  }

  void clear() {
    answer_.findings.clear();
    certain_ = 0;
  }

  const std::vector<Finding>& all() const { return answer_.findings; }
  std::size_t certain() const { return certain_; }

 private:
  const Suspects& suspects_;
  BlameAnswer& answer_;
  std::size_t certain_ = 0;
};

}  // namespace opdump::blame
