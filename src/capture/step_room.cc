#include "capture/step_room.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text/text.h"

namespace opdump::capture {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr const char* kAdvice = "; record fewer steps, fewer operators or statistics only";

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) { return a > kMax / b ? kMax : a * b; }

}  // namespace

bool StepRoom::needs_everything(std::uint64_t pending_bytes) const {
  const std::uint64_t left = budget_->left();
  return largest_bytes_ == 0 || left < pending_bytes || left - pending_bytes < multiply(largest_bytes_, 2);
}

StepRoom::Outlook StepRoom::end_step(std::uint64_t step) {
  const std::uint64_t spent = budget_->spent();
  const std::uint64_t bytes = spent - std::exchange(spent_before_, spent);
  const std::uint64_t remaining = steps_.count_after(step);
  const bool is_first = largest_bytes_ == 0;
  largest_bytes_ = std::max(largest_bytes_, bytes);
  if (largest_bytes_ == 0 || remaining == 0) return {};
  if (is_first) return first_outlook(step, bytes, remaining);
  if (largest_bytes_ <= budget_->left()) return {};
  return {"",
          Error(Code::limit,
                "a step needs up to " + format_bytes(largest_bytes_) + ", and " + budget_->describe_left()),
          remaining};
}

StepRoom::Outlook StepRoom::first_outlook(std::uint64_t step, std::uint64_t bytes,
                                          std::uint64_t remaining) const {
  const std::uint64_t left = budget_->left();
  const std::string size = "step " + std::to_string(step) + ": " + format_bytes(bytes) + " on disk; ";
  if (remaining == kMax) {  // every step: as many as there is room for
    const std::string line = size + "every step is requested, and there is room for about " +
                             std::to_string(left / bytes) + " more: " + budget_->describe_left();
    if (left / bytes > 0) return {line, std::nullopt, remaining};
    return {"", Error(Code::limit, line + kAdvice), remaining};
  }
  const std::uint64_t more = multiply(bytes, remaining);
  const std::string line = size + counted(remaining, "more step") + " requested: about " +
                           format_bytes(more) + ", and " + budget_->describe_left();
  if (more <= left) return {line, std::nullopt, remaining};
  return {"", Error(Code::limit, line + kAdvice), remaining};
}

}  // namespace opdump::capture
