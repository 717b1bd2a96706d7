#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/paired_by.h"
#include "compare/rules/same/equivalence.h"
#include "compare/rules/same/same.h"
#include "compare/wiring/content.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// The operators of one run that compute in their own way, and those around them.
struct Inside {
  const Wiring& wiring;
  std::set<std::uint32_t> executions = {};  // that hand on a difference, or that the other run lacks
  std::vector<Agreement> agreements = {};   // of each execution
  std::set<std::pair<std::uint64_t, std::uint64_t>> data = {};  // what no operator made, by count and sum

  const dump::Runs& runs() const { return wiring.runs(); }
  bool agrees(std::uint32_t execution) const { return agreements[execution] == Agreement::agrees; }
};

class OtherInside : public RuleState {
 public:
  OtherInside(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const auto open = ledger.open_pairs();
    if (open.empty() || ledger.is_settled()) return;
    Inside golden{*study_.golden_wiring}, actual{*study_.actual_wiring};
    for (Inside* run : {&golden, &actual}) run->agreements.assign(run->runs().size(), Agreement::none);
    for (std::size_t place = 0; place < study_.pairs.size(); ++place) {
      const OperatorPair& pair = study_.pairs[place];
      if (pair.is_alone) continue;
      const bool is_inside = !pair.is_whole() || ledger.agreement(place) == Agreement::differs;
      for (auto& [run, execution] : {std::pair(&golden, pair.golden), std::pair(&actual, pair.actual)}) {
        if (execution == OperatorPair::kNone) continue;
        run->agreements[execution] = ledger.agreement(place);
        if (is_inside) run->executions.insert(execution);
      }
    }
    std::set<std::size_t> leaving;  // places of operators with a result that nothing else shows
    if (!reads_the_same(golden, actual)) return;
    for (std::size_t place = 0; place < study_.pairs.size(); ++place) {
      const OperatorPair& pair = study_.pairs[place];
      if (pair.is_whole() && ledger.agreement(place) == Agreement::differs && hands_over(golden, pair.golden))
        return;
      for (auto& [run, execution] : {std::pair(&golden, pair.golden), std::pair(&actual, pair.actual)}) {
        if (!run->executions.contains(execution)) continue;
        switch (what_leaves(*run, execution)) {
          case Leaves::nothing:
            break;
          case Leaves::a_choice:
            return;
          case Leaves::a_result:
            if (is_last_of_both(pair)) return;
            leaving.insert(place);
        }
      }
    }
    const std::vector<std::size_t> places(leaving.begin(), leaving.end());
    if (!find_unexplained(study_, ledger, places, {}, 0).empty()) return;
    ledger.note(rule_.name, counted(open.size(), "operator") + " of both runs and " +
                                counted(ledger.singles().size(), "operator") +
                                " of one compute in other ways: they read the same data, and what follows "
                                "agrees: no difference");
    ledger.excuse_all(rule_.name);
  }

 private:
  enum class Leaves : std::uint8_t { nothing, a_choice, a_result };

  // Whether nothing reads what the two operators of a pair make, in either run, and it has one shape: it is a
  // result of both programs, and differs.
  bool is_last_of_both(const OperatorPair& pair) const {
    if (!pair.is_whole() || pair.paired_by == PairedBy::alignment) return false;
    const dump::Runs &golden = study_.golden->runs(), &actual = study_.actual->runs();
    for (const dump::Slot& g : golden.slots(pair.golden))
      for (const dump::Slot& a : actual.slots(pair.actual))
        if (g.side == model::Side::output && a.side == g.side && a.index == g.index && g.shape == a.shape &&
            model::is_floating(g.dtype) &&
            study_.golden_wiring->likely_readers({pair.golden, g.index}).empty() &&
            study_.actual_wiring->likely_readers({pair.actual, a.index}).empty())
          return true;
    return false;
  }

  // Whether the program gets a number.
  static bool hands_over(const Inside& run, std::uint32_t execution) {
    return model::has_trait(run.runs().without_slots(execution).type, model::Trait::hands_over);
  }

  // What an operator inside makes that operators outside must show: they do where they read it and agree. A
  // place or a mask that they read may be the same of wrong numbers, unless what was chosen comes with it,
  // and is read, too, as topk's.
  static Leaves what_leaves(const Inside& run, std::uint32_t execution) {
    bool reads_numbers = false, shows_numbers = false, chooses = false, is_shown = true;
    for (const dump::Slot& slot : run.runs().slots(execution))
      reads_numbers |= slot.side == model::Side::input && model::is_floating(slot.dtype);
    for (const dump::Slot& slot : run.runs().slots(execution)) {
      if (slot.side != model::Side::output || slot.undumped_reason == "view" ||
          slot.undumped_reason == "uninitialised" || (slot.shape && element_count_of(slot) == 0))
        continue;
      const std::vector<std::uint32_t> readers = run.wiring.likely_readers({execution, slot.index});
      const bool leaves =
          std::ranges::any_of(readers, [&](std::uint32_t reader) { return run.agrees(reader); });
      const bool stays =
          std::ranges::any_of(readers, [&](std::uint32_t reader) { return run.executions.contains(reader); });
      const bool is_choice = reads_numbers && !model::is_floating(slot.dtype);
      if (is_choice && !leaves && !stays) return Leaves::a_choice;
      chooses |= is_choice && leaves;
      shows_numbers |= model::is_floating(slot.dtype) && (leaves || stays);
      is_shown &= leaves || stays;
    }
    if (chooses && !shows_numbers) return Leaves::a_choice;
    return is_shown ? Leaves::nothing : Leaves::a_result;
  }

  // Whether what the operators inside read of data and weights is in the other run, too.
  static bool reads_the_same(Inside& golden, Inside& actual) {
    for (Inside* run : {&golden, &actual}) read_data(*run);
    return has_data_of(golden, actual) && has_data_of(actual, golden);
  }

  static bool has_data_of(const Inside& run, const Inside& other) {
    for (const std::uint32_t execution : run.executions)
      for (const dump::Slot& slot : run.runs().slots(execution))
        if (const auto print = data_of(run, execution, slot);
            print && !other.data.contains({print->count, print->sum}))
          return false;
    return true;
  }

  static void read_data(Inside& run) {
    for (std::uint32_t execution = 0; execution < run.runs().size(); ++execution)
      for (const dump::Slot& slot : run.runs().slots(execution))
        if (const auto print = data_of(run, execution, slot)) run.data.emplace(print->count, print->sum);
  }

  // Returns the print of an input that no operator made. Single numbers are left out: they follow from the
  // way in which a run computes.
  static std::optional<Fingerprint> data_of(const Inside& run, std::uint32_t execution,
                                            const dump::Slot& slot) {
    if (slot.side != model::Side::input || !slot.shape || element_count_of(slot) <= 1) return std::nullopt;
    const Wiring::Writers writers = run.wiring.writers(execution, slot.index);
    if (!writers.executions.empty() || !writers.are_whole) return std::nullopt;
    return fingerprint_of(slot);
  }

  const Rule& rule_;
  const Study& study_;
};

}  // namespace

const Rule kOtherInside{
    .name = "other-inside",
    .sentence =
        "a part of the program that each run computes in its own way, as packed and padded sequences, is no "
        "difference if it reads the same data, and all that leaves it agrees",
    .stage = Stage::same_otherwise,
    .applies =
        [](const Study& study) {
          return study.is_plain() && !study.by_gains && study.golden_wiring->is_recorded() &&
                 study.actual_wiring->is_recorded();
        },
    .begin = begin_state<OtherInside>};

}  // namespace opdump::compare
