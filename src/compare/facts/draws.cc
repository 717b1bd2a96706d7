#include "compare/facts/draws.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

constexpr std::size_t kMostInitialisers = 64;  // an initialisation has fewer

// A forward pass of no module: where weights are made, and not where they are used.
bool is_outside(const dump::OperatorRun& run) {
  return phase_of(run) == model::Phase::forward && module_of(run) == "Default";
}

bool is_only_written_to(const dump::Slot& slot) { return slot.undumped_reason == "only written to"; }

// Whether an execution makes random numbers, or something of them and of constants.
bool is_of_draws(const Wiring& wiring, std::uint32_t execution, std::set<std::uint32_t>& seen) {
  const dump::OperatorRun run = wiring.runs().without_slots(execution);
  if (!is_outside(run) || seen.size() == kMostInitialisers) return false;
  if (!seen.insert(execution).second) return true;
  bool is_drawn = model::has_trait(run.type, model::Trait::random);
  for (const dump::Slot& slot : wiring.runs().slots(execution)) {
    if (slot.side != model::Side::input || is_only_written_to(slot)) continue;
    const Wiring::Writers writers = wiring.writers(execution, slot.index);
    if (writers.executions.empty() && slot.shape && slot.shape->rank() == 0) continue;  // Python's number
    if (!writers.are_whole || writers.executions.empty()) return false;
    for (const std::uint32_t writer : writers.executions) {
      const dump::OperatorRun of = wiring.runs().without_slots(writer);
      const bool is_constant =
          kind_of(of.type).role == OperatorRole::makes && !model::has_trait(of.type, model::Trait::random);
      if (is_constant || writer >= execution) continue;
      if (!is_of_draws(wiring, writer, seen)) return false;
      is_drawn = true;
    }
  }
  return is_drawn;
}

}  // namespace

std::set<std::uint32_t> find_draws_for_nothing(const Wiring& wiring, std::uint32_t execution) {
  if (!wiring.is_recorded()) return {};
  std::set<std::uint32_t> made{execution}, draws;
  for (std::vector<std::uint32_t> open{execution}; !open.empty();) {
    const std::uint32_t maker = open.back();
    open.pop_back();
    std::set<std::uint32_t> sources;
    if (made.size() > kMostInitialisers || !is_of_draws(wiring, maker, sources)) return {};
    bool makes_tensors = false;
    for (const dump::Slot& slot : wiring.runs().slots(maker)) {
      if (slot.side != model::Side::output) continue;
      makes_tensors = true;
      for (const std::uint32_t user : wiring.users({maker, slot.index}))
        if (made.insert(user).second) open.push_back(user);
    }
    if (!makes_tensors) return {};  // it gives Python a number, which may decide something
    if (maker != execution) continue;
    for (const std::uint32_t source : sources)
      if (model::has_trait(wiring.runs().without_slots(source).type, model::Trait::random))
        draws.insert(source);
  }
  return draws;
}

}  // namespace opdump::compare
