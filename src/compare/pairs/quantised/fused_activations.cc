#include "compare/pairs/quantised/fused_activations.h"

#include <map>
#include <optional>
#include <string>

#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

bool is_fused(const std::string& fused, const std::string& type) { return fused == "Fused" + type; }

std::optional<dump::Slot> first_slot(const dump::Runs& runs, std::uint32_t index, model::Side side) {
  for (const dump::Slot& slot : runs.slots(index))
    if (slot.side == side && slot.index == 0) return slot;
  return std::nullopt;
}

}  // namespace

void join_fused_activations(const dump::Runs& golden, const dump::Runs& actual,
                            std::vector<OperatorPair>& pairs) {
  struct Open {
    std::size_t place = 0;
    Fingerprint made;
  };
  std::vector<bool> is_gone(pairs.size());
  std::optional<Open> open[2];  // of the run that has both apart: golden, actual
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    OperatorPair& pair = pairs[i];
    for (const bool is_golden : {true, false}) {
      const dump::Runs& runs = is_golden ? golden : actual;
      std::optional<Open>& before = open[is_golden ? 0 : 1];
      const auto index_of = [&](OperatorPair& of) -> std::uint32_t& {
        return is_golden ? of.golden : of.actual;
      };
      if (pair.is_whole()) {
        const std::string type = runs.without_slots(index_of(pair)).type;
        const std::string other =
            is_golden ? actual.without_slots(pair.actual).type : golden.without_slots(pair.golden).type;
        const auto slot =
            is_fused(other, type) ? first_slot(runs, index_of(pair), model::Side::output) : std::nullopt;
        const auto print = slot ? fingerprint_of(*slot) : std::nullopt;
        if (print) before = Open{i, *print};
      } else if (before && index_of(pair) != OperatorPair::kNone) {
        const auto slot = first_slot(runs, index_of(pair), model::Side::input);
        if (!slot || fingerprint_of(*slot) != before->made) continue;
        OperatorPair& whole = pairs[before->place];
        (is_golden ? whole.golden_first : whole.actual_first) = index_of(whole);
        index_of(whole) = index_of(pair);
        is_gone[i] = true;
        before.reset();
      }
    }
  }
  std::size_t at = 0;
  std::erase_if(pairs, [&](const OperatorPair&) { return static_cast<bool>(is_gone[at++]); });
}

}  // namespace opdump::compare
