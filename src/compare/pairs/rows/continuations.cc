#include "compare/pairs/rows/continuations.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "compare/pairs/frame/frame.h"
#include "compare/pairs/frame/frame_pairing.h"
#include "compare/pairs/frame/scope.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostSteps = 4096;
constexpr std::size_t kLeastAlike = 3;  // operators by which a part is recognised

// Executions that follow one another, of one rank and step.
struct StepStretch {
  std::uint32_t first = OperatorPair::kNone, last = 0;
  void add(std::uint32_t execution) {
    first = std::min(first, execution);
    last = std::max(last, execution + 1);
  }
};
using Steps = std::map<std::pair<std::uint32_t, std::int64_t>, StepStretch>;  // by rank and step

struct NamedRun {
  std::uint32_t execution = 0;
  std::string name;  // without its number
};

// Executions that have tensors: views are listed in one step only.
std::vector<NamedRun> named_runs(const dump::Runs& runs, std::uint32_t first, std::uint32_t last) {
  std::vector<NamedRun> found;
  for (std::uint32_t i = first; i < last; ++i) {
    const dump::OperatorRun run = runs.without_slots(i);
    bool has_tensor = false;
    for (const dump::Slot& slot : runs.slots(i)) has_tensor |= slot.undumped_reason.empty();
    if (run.op != nullptr && has_tensor)
      found.push_back({.execution = i, .name = std::string(without_number(run.op->name, run.type))});
  }
  return found;
}

// Where in golden the part begins that `step` of actual repeats: a first step also makes the model and its
// data. It is where actual's step before runs what `step` begins with.
std::uint32_t begin_of_part(const dump::Runs& actual, const StepStretch& base, const StepStretch& step,
                            std::uint32_t base_in_golden, const std::vector<OperatorPair>& pairs) {
  const std::vector<NamedRun> now = named_runs(actual, step.first, step.last),
                              before = named_runs(actual, base.first, base.last);
  std::size_t longest = kLeastAlike - 1;
  std::uint32_t begin = base.first;
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::size_t length = 0;
    while (length < now.size() && i + length < before.size() && now[length].name == before[i + length].name)
      ++length;
    if (length <= longest) continue;
    longest = length;
    begin = before[i].execution;
  }
  if (begin == base.first) return base_in_golden;
  for (const OperatorPair& pair : pairs)
    if (pair.is_whole() && pair.actual >= begin && pair.actual < base.last) return pair.golden;
  return base_in_golden;
}

}  // namespace

std::vector<OperatorPair> pair_continuations(const dump::Runs& golden, const dump::Runs& actual,
                                             const std::vector<OperatorPair>& pairs) {
  Steps whole, before, alone;  // of golden, what actual has of these, and what only actual has
  std::vector<OperatorPair> found;
  for (const OperatorPair& pair : pairs) {
    const bool is_alone = pair.is_alone && pair.golden == OperatorPair::kNone;
    if (!is_alone) found.push_back(pair);
    if (!is_alone && pair.actual != OperatorPair::kNone) {
      const dump::Runs::Section& section = actual.section_of(pair.actual);
      before[{section.rank, section.step}].add(pair.actual);
    }
    if (!is_alone && pair.golden == OperatorPair::kNone) continue;
    const dump::Runs::Section& section =
        is_alone ? actual.section_of(pair.actual) : golden.section_of(pair.golden);
    (is_alone ? alone : whole)[{section.rank, section.step}].add(is_alone ? pair.actual : pair.golden);
  }
  if (alone.empty() || alone.size() > kMostSteps) return {};
  for (const auto& [key, step] : alone) {
    auto base = whole.upper_bound(key);
    if (base == whole.begin() || std::prev(base)->first.first != key.first) return {};
    --base;
    const FrameRule rule{.graph = false};
    const auto own = before.find(base->first);
    const std::uint32_t first = own == before.end()
                                    ? base->second.first
                                    : begin_of_part(actual, own->second, step, base->second.first, pairs);
    FramePairing frame({.runs = &golden, .first = first, .last = base->second.last},
                       {.runs = &actual, .first = step.first, .last = step.last}, rule);
    frame.join_sequences();
    frame.join_names();
    std::vector<OperatorPair> joined;
    frame.append_pairs(joined);
    std::size_t count = 0;
    for (const OperatorPair& pair : joined) {
      count += pair.is_whole();
      if (pair.actual != OperatorPair::kNone) found.push_back(pair);
    }
    if (2 * count < step.last - step.first) return {};
  }
  return found;
}

}  // namespace opdump::compare
