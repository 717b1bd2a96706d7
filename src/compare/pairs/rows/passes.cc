#include "compare/pairs/rows/passes.h"

#include <utility>

#include "compare/pairs/frame/frame.h"
#include "compare/pairs/frame/frame_pairing.h"

namespace opdump::compare {

std::vector<OperatorPair> pair_passes(const dump::Runs& golden, Pass of_golden, const dump::Runs& actual,
                                      Pass of_actual) {
  const FrameRule rule{.graph = false};
  FrameRuns g{.runs = &golden, .first = of_golden.first, .last = of_golden.last},
      a{.runs = &actual, .first = of_actual.first, .last = of_actual.last};
  g.number_again();
  a.number_again();
  FramePairing frame(std::move(g), std::move(a), rule);
  frame.join_sequences();
  frame.join_names();
  std::vector<OperatorPair> pairs;
  frame.append_pairs(pairs);
  for (OperatorPair& pair : pairs) pair.is_alone = false;  // of a step that both runs have
  return pairs;
}

}  // namespace opdump::compare
