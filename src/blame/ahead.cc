#include "blame/ahead.h"

#include <algorithm>
#include <utility>

#include "blame/differences.h"
#include "compare/facts/arguments.h"

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
  const std::size_t most = chosen != nullptr ? chosen->size() : kAhead;
  if (!expect_ || replayed + most > limit_) return;
  if (chosen == nullptr && !has_usual_question(suspects_[i])) return;  // its answer may be the last one
  const std::size_t last = chosen != nullptr ? suspects_.size() : i + kAhead;
  const auto end = static_cast<std::uint32_t>(std::min(last, suspects_.size()));
  for (next_ = std::max(next_, i); next_ < end; ++next_) {
    const OperatorComparison& op = suspects_[next_];
    if ((chosen != nullptr && !chosen->contains(next_)) || !has_usual_question(op)) continue;
    auto request = make_request(op.golden.get(), op.actual.get(), usual_question(op));
    if (!request) continue;
    expect_({.request = std::move(*request),
             .function = op.golden->form->function,
             .elements = element_count_of(op)});
  }
}

}  // namespace opdump::blame
