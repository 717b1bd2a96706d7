#include "compare/pairs/rows/passes.h"

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "compare/names.h"
#include "compare/pairs/frame/frame.h"
#include "compare/pairs/frame/frame_pairing.h"
#include "compare/pairs/frame/scope.h"

namespace opdump::compare {
namespace {

// Numbers the operators of each scope and type from 0 on, as if nothing had run in their step before.
void number_again(FrameRuns& part) {
  std::map<std::string, std::uint64_t, std::less<>> next;  // by scope, with the type
  part.names.assign(part.size(), {});
  for (std::uint32_t i = 0; i < part.size(); ++i) {
    const dump::OperatorRun run = part.runs->without_slots(part.first + i);
    if (run.op == nullptr) continue;
    const std::string scope(without_number(run.op->name, run.type));
    part.names[i] = scope + "-op" + std::to_string(next[scope]++);
  }
}

}  // namespace

std::vector<OperatorPair> pair_passes(const dump::Runs& golden, Pass of_golden, const dump::Runs& actual,
                                      Pass of_actual) {
  const FrameRule rule{.graph = false};
  FrameRuns g{.runs = &golden, .first = of_golden.first, .last = of_golden.last},
      a{.runs = &actual, .first = of_actual.first, .last = of_actual.last};
  number_again(g);
  number_again(a);
  FramePairing frame(std::move(g), std::move(a), rule);
  frame.join_sequences();
  frame.join_names();
  std::vector<OperatorPair> pairs;
  frame.append_pairs(pairs);
  return pairs;
}

}  // namespace opdump::compare
