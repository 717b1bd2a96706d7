#include <algorithm>
#include <string>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/leave_out/leave_out.h"
#include "compare/wiring/makers.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// A random initialisation over which weights are loaded, whatever its seed.
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
    const auto is_vain = [&](const Wiring& wiring, std::uint32_t execution) {
      return execution != OperatorPair::kNone &&
             (wiring.is_overwritten_unread(execution) || (is_single && draws_in_vain(wiring, execution)) ||
              makes_in_vain(wiring, execution) ||
              (fills_memory(wiring, execution, kMostInARow) && is_unread(wiring, execution, kMostInARow)));
    };
    if (std::ranges::none_of(op.slots, is_output) ||
        (!is_vain(*study_.golden_wiring, pair.golden) && !is_vain(*study_.actual_wiring, pair.actual)))
      return false;
    const std::string reason = "nothing reads it before it is replaced";
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
                                  " other values that are replaced before anything reads them (first " +
                                  first_ + "): no difference");
  }

 private:
  // Random numbers alone are no result of a program: where nothing reads them, their memory has gone, as that
  // of a weight for which another one was put in. Where both runs draw them, NumPy may have them.
  static bool draws_in_vain(const Wiring& wiring, std::uint32_t execution) {
    if (!model::has_trait(wiring.runs().without_slots(execution).type, model::Trait::random)) return false;
    for (const dump::Slot& slot : wiring.runs().slots(execution)) {
      if (slot.side == model::Side::input && slot.undumped_reason != "only written to") return false;
      if (slot.side == model::Side::output && !wiring.likely_readers({execution, slot.index}).empty())
        return false;
    }
    return true;
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

  static constexpr unsigned kMostInARow = 32;  // operators that fill one tensor in place

  // Whether it fills memory in place with random numbers, or changes such, as initial values of a weight are
  // made. What a program draws for itself is a tensor of its own.
  static bool fills_memory(const Wiring& wiring, std::uint32_t execution, unsigned left) {
    const dump::OperatorRun run = wiring.runs().without_slots(execution);
    const std::string_view type = run.type;
    if (!type.ends_with('_') || phase_of(run) != model::Phase::forward || left == 0) return false;
    for (const dump::Slot& slot : wiring.runs().slots(execution)) {
      if (slot.side != model::Side::input || !model::is_floating(slot.dtype)) continue;
      if (slot.undumped_reason == "only written to")
        return model::has_trait(type, model::Trait::random) && has_parameter_like(wiring, execution, slot);
      const Wiring::Writers writers = wiring.writers(execution, slot.index);
      return writers.are_whole && !writers.executions.empty() &&
             fills_memory(wiring, std::ranges::max(writers.executions), left - 1);
    }
    return false;
  }

  // Whether a parameter of that shape was made before in the step: a view of memory that nobody has filled.
  // What is drawn into other memory may be read by Python alone.
  static bool has_parameter_like(const Wiring& wiring, std::uint32_t execution, const dump::Slot& memory) {
    const dump::Runs& runs = wiring.runs();
    const auto is_one = [&](std::uint32_t earlier) {
      if (runs.without_slots(earlier).type != "detach") return false;
      for (const dump::Slot& slot : runs.slots(earlier))
        if (slot.side == model::Side::input && slot.shape == memory.shape &&
            wiring.writers(earlier, slot.index).executions.empty())
          return true;
      return false;
    };
    for (std::uint32_t i = execution; i-- > 0 && runs.section_of(i).step == runs.section_of(execution).step;)
      if (is_one(i)) return true;
    return false;
  }

  // Whether nothing reads what it makes but operators that change it in place, and these are not read,
  // either.
  static bool is_unread(const Wiring& wiring, std::uint32_t execution, unsigned left) {
    for (const dump::Slot& slot : wiring.runs().slots(execution)) {
      if (slot.side != model::Side::output) continue;
      // Through a view that no operator reads, NumPy may have it.
      for (const std::uint32_t reader : wiring.users({execution, slot.index}))
        if (reader <= execution || left == 0 || !wiring.runs().without_slots(reader).type.ends_with('_') ||
            !is_unread(wiring, reader, left - 1))
          return false;
    }
    return true;
  }

  const Rule& rule_;
  const Study& study_;
  std::uint64_t count_ = 0;
  std::string first_;
};

}  // namespace

const Rule kNeverRead{.name = "never-read",
                      .sentence =
                          "what is replaced before anything reads it, as a random initialisation "
                          "over which weights are loaded, says nothing",
                      .stage = Stage::leave_out,
                      .applies =
                          [](const Study& study) {
                            return study.is_plain() && study.golden_wiring->is_recorded() &&
                                   study.actual_wiring->is_recorded();
                          },
                      .begin = begin_state<NeverRead>};

}  // namespace opdump::compare
