#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compare/key_slots.h"
#include "compare/paired_by.h"
#include "compare/rules/accuse/origin.h"
#include "compare/rules/explain/explain.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

class PairByPlace : public RuleState {
 public:
  explicit PairByPlace(const Study& study) : study_(study) {}

  bool look(OperatorComparison& op, Ledger& ledger) override {
    if (op.golden == nullptr || op.actual == nullptr) return false;
    const bool is_by_place = op.paired_by == PairedBy::alignment;
    const bool hands_over =
        op.verdict == Verdict::input_differs && model::has_trait(op.run().type, model::Trait::hands_over);
    const bool copies = is_by_place && op.verdict == Verdict::inherited &&
                        model::has_trait(op.run().type, model::Trait::casts);
    if ((!hands_over && !copies) || is_made_by_pair(op, study_.pairs[ledger.next_place()])) return false;
    op.verdict = is_by_place ? Verdict::skipped : Verdict::uncertain;
    op.cause = is_by_place ? std::string() : explain_numbers(op);
    if (is_by_place) op.left_out = "it is paired by its place alone, and reads what other operators made";
    for (SlotComparison& slot : op.slots) {
      if (!is_difference(slot.verdict)) continue;
      slot.verdict = op.verdict;
      if (is_by_place) slot.reason = op.left_out;
    }
    return true;
  }

 private:
  // Whether what differs was made by operators that are paired, or by none: then it is a difference of
  // theirs.
  bool is_made_by_pair(const OperatorComparison& op, const OperatorPair& pair) {
    for (const SlotComparison& slot : op.slots) {
      if (side_of(slot) != model::Side::input || !is_difference(slot.verdict)) continue;
      if (slot.golden == nullptr || slot.actual == nullptr) return true;
      const auto of_golden = study_.golden_wiring->maker(pair.golden, *slot.golden);
      const auto of_actual = study_.actual_wiring->maker(pair.actual, *slot.actual);
      if (!of_golden || !of_actual || partner_of(*of_golden) == *of_actual) return true;
    }
    return false;
  }

  std::optional<std::uint32_t> partner_of(std::size_t golden) {
    if (partners_.empty())
      for (const OperatorPair& pair : study_.pairs)
        if (pair.is_whole()) partners_.emplace(pair.golden, pair.actual);
    const auto found = partners_.find(static_cast<std::uint32_t>(golden));
    return found == partners_.end() ? std::nullopt : std::optional(found->second);
  }

  const Study& study_;
  std::map<std::uint32_t, std::uint32_t> partners_;  // actual's, by golden's
};

}  // namespace

const Rule kPairByPlace{
    .name = "pair-by-place",
    .sentence =
        "a copy, or a number for the program, of what other operators made in each run is no pair if only "
        "its place says so: what reads it is compared; else such a number is an open question",
    .stage = Stage::explain,
    .applies =
        [](const Study& study) {
          return study.is_plain() && study.golden_wiring->is_recorded() && study.actual_wiring->is_recorded();
        },
    .begin = begin_state<PairByPlace>};

}  // namespace opdump::compare
