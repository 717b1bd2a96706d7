#include "plan/step_set.h"

#include <algorithm>

#include "base/text/text.h"

namespace opdump::plan {

void StepSet::add(std::uint64_t first, std::uint64_t last) {
  if (all_ || last < first) return;
  // Everything that touches or overlaps the new range is swallowed by it.
  const auto touches_begin = std::ranges::lower_bound(
      ranges_, first, {}, [](const Range& r) { return r.last == UINT64_MAX ? UINT64_MAX : r.last + 1; });
  auto touches_end = touches_begin;
  while (touches_end != ranges_.end() && (last == UINT64_MAX || touches_end->first <= last + 1)) {
    first = std::min(first, touches_end->first);
    last = std::max(last, touches_end->last);
    ++touches_end;
  }
  ranges_.insert(ranges_.erase(touches_begin, touches_end), {first, last});
}

bool StepSet::contains(std::uint64_t step) const {
  if (all_) return true;
  const auto range = std::ranges::lower_bound(ranges_, step, {}, &Range::last);
  return range != ranges_.end() && range->first <= step;
}

std::uint64_t StepSet::count_after(std::uint64_t step) const {
  if (all_) return UINT64_MAX;
  std::uint64_t count = 0;
  for (const auto& [first, last] : ranges_) {
    if (last <= step) continue;
    const std::uint64_t more = last - std::max(first, step + 1);
    if (count >= UINT64_MAX - 1 - more) return UINT64_MAX;
    count += more + 1;
  }
  return count;
}

StepSet StepSet::after(std::uint64_t step) const {
  StepSet later = none();
  for (const auto& [first, last] : ranges_)
    if (last > step) later.add(std::max(first, step + 1), last);
  return later;
}

std::string StepSet::format() const {
  if (all_) return "all";
  if (ranges_.empty()) return "none";
  std::string text;
  for (const auto& [first, last] : ranges_) {
    if (!text.empty()) text += '|';
    text += std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text;
}

std::string StepSet::describe() const {
  if (all_) return "every step";
  std::string text = format();
  std::ranges::replace(text, '|', ',');
  return (is_digits(text) ? "step " : "steps ") + text;
}

}  // namespace opdump::plan
