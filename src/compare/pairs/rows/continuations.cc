#include "compare/pairs/rows/continuations.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compare/pairs/frame/frame.h"
#include "compare/pairs/frame/frame_pairing.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostSteps = 4096;

// Executions that follow one another, of one rank and step.
struct StepStretch {
  std::uint32_t first = OperatorPair::kNone, last = 0;
  void add(std::uint32_t execution) {
    first = std::min(first, execution);
    last = std::max(last, execution + 1);
  }
};
using Steps = std::map<std::pair<std::uint32_t, std::int64_t>, StepStretch>;  // by rank and step

}  // namespace

std::vector<OperatorPair> pair_continuations(const dump::Runs& golden, const dump::Runs& actual,
                                             const std::vector<OperatorPair>& pairs) {
  Steps whole, alone;  // of golden, of actual
  std::vector<OperatorPair> found;
  for (const OperatorPair& pair : pairs) {
    const bool is_alone = pair.is_alone && pair.golden == OperatorPair::kNone;
    if (!is_alone) found.push_back(pair);
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
    FramePairing frame({.runs = &golden, .first = base->second.first, .last = base->second.last},
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
