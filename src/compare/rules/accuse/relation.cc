#include "compare/measure/relation.h"

#include <string>

#include "compare/key_slots.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/wiring/content.h"

namespace opdump::compare {
namespace {

constexpr std::uint64_t kMostElements = 1 << 22;

class TellsRelation : public RuleState {
 public:
  void remark(Ledger& ledger) override {
    Accusation* first = ledger.standing();
    if (first == nullptr || first->op.golden == nullptr || first->op.actual == nullptr) return;
    for (SlotComparison& slot : first->op.slots) {
      if (side_of(slot) != model::Side::output || !is_difference(slot.verdict) || !slot.metrics) continue;
      if (slot.sharded != nullptr || slot.any_layout || slot.is_quantised) continue;
      const auto golden =
          read_numbers(*first->op.golden, model::Side::output, slot.golden->index, kMostElements);
      const auto actual =
          read_numbers(*first->op.actual, model::Side::output, slot.actual->index, kMostElements);
      if (!golden || !actual || golden->dims != actual->dims) continue;
      const std::string text = describe_relation(golden->values, actual->values, golden->dims, slot.dtype);
      if (text.empty()) continue;
      slot.reason = text + (slot.reason.empty() ? "" : "; " + slot.reason);
      return;
    }
  }
};

}  // namespace

const Rule kRelation{.name = "relation",
                     .sentence =
                         "in what simple way the output of the first bad operator differs: by a factor, by a "
                         "constant, in its sign, order or precision",
                     .stage = Stage::remark,
                     .begin = begin_state<TellsRelation>};

}  // namespace opdump::compare
