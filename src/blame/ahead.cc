#include "blame/ahead.h"

#include <algorithm>
#include <utility>

#include "blame/differences.h"
#include "compare/arguments.h"

namespace opdump::blame {
namespace {

using compare::OperatorComparison;

constexpr std::uint32_t kAhead = 12;
constexpr std::uint64_t kMostElements = 1 << 23;  // several run at once, each with some copies in float64

bool has_usual_question(const OperatorComparison& op) {
  return is_paired(op) && differs(op, model::Side::output) && element_count_of(op) <= kMostElements &&
         !execute_different_functions(*op.golden, *op.actual) &&
         !compare::find_argument_difference(*op.golden, *op.actual);
}

}  // namespace

Question usual_question(const OperatorComparison& op) { return {.repeats = !amplifies(op)}; }

void Ahead::look_beyond(std::uint32_t i, std::uint64_t replayed, const std::set<std::uint32_t>* chosen) {
  if (!expect_ || replayed + kAhead > limit_) return;
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(i + kAhead, suspects_.size()));
  for (next_ = std::max(next_, i); next_ < end; ++next_) {
    const OperatorComparison& op = suspects_[next_];
    if ((chosen != nullptr && !chosen->contains(next_)) || !has_usual_question(op)) continue;
    auto request = make_request(op.golden.get(), op.actual.get(), usual_question(op));
    if (!request) continue;
    expect_({.request = std::move(*request),
             .function = op.golden->form->function,
             .elements = element_count_of(op),
             .followers = chosen != nullptr ? chosen->size() : suspects_.size() - next_});
  }
}

}  // namespace opdump::blame
