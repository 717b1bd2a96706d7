#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "base/text/text.h"
#include "compare/facts/draws.h"
#include "compare/facts/operator_kind.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/leave_out/leave_out.h"
#include "compare/wiring/makers.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// A random initialisation over which weights are loaded, or for which others are put in, whatever its seed.
class NeverRead : public RuleState {
 public:
  NeverRead(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  // As the wiring of each run has it; memory that is written without an operator is none that it knows. Where
  // one run replaces what the other one reads, as weights that only one of them loads, the two values are
  // none that should agree: whoever reads them is judged by what it reads.
  bool look(OperatorComparison& op, Ledger& ledger) override {
    const OperatorPair& pair = study_.pairs[ledger.next_place()];
    const bool is_single = !pair.is_whole();
    const auto counts = [&](const SlotComparison& slot) {
      return is_single ? slot.verdict != Verdict::skipped : is_difference(slot.verdict);
    };
    const auto is_output = [&](const SlotComparison& slot) {
      return side_of(slot) == model::Side::output && counts(slot);
    };
    const auto is_vain = [&](const Wiring& wiring, std::uint32_t execution, std::set<std::uint32_t>& draws) {
      return execution != OperatorPair::kNone &&
             (wiring.is_overwritten_unread(execution) || is_drawn_in_vain(wiring, execution, draws) ||
              makes_in_vain(wiring, execution));
    };
    if (std::ranges::none_of(op.slots, is_output) ||
        (!is_vain(*study_.golden_wiring, pair.golden, golden_draws_) &&
         !is_vain(*study_.actual_wiring, pair.actual, actual_draws_)))
      return false;
    const std::string reason = "no operator reads it";
    for (SlotComparison& slot : op.slots) {
      if (!counts(slot)) continue;
      slot.verdict = Verdict::skipped;
      slot.reason = reason;
      slot.rule = rule_.name;
    }
    if (is_single) op.left_out = reason;
    op.rule = rule_.name;
    if (count_++ == 0) first_ = one_line(operator_name(op.run()));
    return true;
  }

  void remark(Ledger& ledger) override {
    if (count_ > 0)
      ledger.note(rule_.name, counted(count_, "operator", "give") +
                                  " other values that no operator reads (first " + first_ +
                                  "): no difference");
  }

 private:
  // Random numbers that differ, and what is made of such: not what the runs make of equal ones.
  static bool is_drawn_in_vain(const Wiring& wiring, std::uint32_t execution,
                               std::set<std::uint32_t>& differing) {
    const std::set<std::uint32_t> draws = find_draws_for_nothing(wiring, execution);
    if (draws.contains(execution)) differing.insert(execution);
    return std::ranges::any_of(draws, [&](std::uint32_t draw) { return differing.contains(draw); });
  }

  // A tensor of one number, as zeros, that nothing reads: PyTorch 1.13 makes one where an optimizer begins.
  // Of others, as places, Python may make a list.
  static bool makes_in_vain(const Wiring& wiring, std::uint32_t execution) {
    if (kind_of(wiring.runs().without_slots(execution).type).role != OperatorRole::makes) return false;
    for (const dump::Slot& slot : wiring.runs().slots(execution)) {
      if (slot.side == model::Side::input || !wiring.users({execution, slot.index}).empty()) return false;
      const auto numbers = numbers_of(slot);
      if (!numbers || numbers->empty() ||
          std::ranges::any_of(*numbers, [&](double number) { return number != numbers->front(); }))
        return false;
    }
    return true;
  }

  const Rule& rule_;
  const Study& study_;
  std::set<std::uint32_t> golden_draws_, actual_draws_;  // that differ
  std::uint64_t count_ = 0;
  std::string first_;
};

}  // namespace

const Rule kNeverRead{.name = "never-read",
                      .sentence =
                          "random numbers that no operator reads, and what is replaced before anything reads "
                          "it, say nothing: an initialisation over which weights are loaded",
                      .stage = Stage::leave_out,
                      .applies =
                          [](const Study& study) {
                            return study.is_plain() && study.golden_wiring->is_recorded() &&
                                   study.actual_wiring->is_recorded();
                          },
                      .begin = begin_state<NeverRead>};

}  // namespace opdump::compare
