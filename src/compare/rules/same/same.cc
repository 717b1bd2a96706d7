#include "compare/rules/same/same.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "compare/rules/accuse/one_sided.h"
#include "compare/rules/gains/singles.h"
#include "compare/rules/measured.h"
#include "compare/rules/same/equivalence.h"
#include "model/dtype.h"

namespace opdump::compare {
namespace {

void note_singles(Ledger& ledger, std::string_view rule, std::size_t count) {
  if (count > 0)
    ledger.note(rule, counted(count, "operator", "are") +
                          " in one run only, and the other run has the results, or nothing reads them: no "
                          "difference");
}

// Operators that hand on a difference are none if the runs only compute the same in other ways.
class OtherWay : public RuleState {
 public:
  OtherWay(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const auto open = ledger.open_pairs();
    if (open.empty() || ledger.is_settled()) return;
    const auto singles = ledger.singles();
    // What singles make that is right within rounding is so for those that read it, too, if it ends there.
    const bool ends = end_what_singles_make(open, singles);
    if (!find_unexplained(study_, ledger, singles, ends ? std::span<const OpenPair>() : open, ledger.noise())
             .empty())
      return;
    note_singles(ledger, rule_.name, singles.size());
    ledger.note(rule_.name, counted(open.size(), "operator", "read") +
                                " other tensors in each run, and what follows agrees: no difference");
    ledger.excuse_all(rule_.name);
  }

 private:
  // Whether the outputs of open pairs agree, and only singles made the inputs that differ.
  bool end_what_singles_make(std::span<const OpenPair> open, std::span<const std::size_t> singles) const {
    std::set<std::uint32_t> golden, actual;
    for (const std::size_t place : singles) {
      golden.insert(study_.pairs[place].golden);
      actual.insert(study_.pairs[place].actual);
    }
    const auto is_made_by = [](const Wiring& wiring, std::uint32_t reader, std::uint32_t input,
                               const std::set<std::uint32_t>& makers) {
      const Wiring::Writers writers = wiring.writers(reader, input);
      return writers.are_whole && !writers.executions.empty() &&
             std::ranges::all_of(writers.executions,
                                 [&](std::uint32_t writer) { return makers.contains(writer); });
    };
    return study_.golden_wiring->is_recorded() && study_.actual_wiring->is_recorded() &&
           std::ranges::all_of(open, [&](const OpenPair& pair) {
             const OperatorPair& reader = study_.pairs[pair.place];
             return pair.agrees && std::ranges::all_of(pair.inputs, [&](const auto& input) {
                      return is_made_by(*study_.golden_wiring, reader.golden, input.first, golden) &&
                             is_made_by(*study_.actual_wiring, reader.actual, input.second, actual);
                    });
           });
  }

  const Rule& rule_;
  const Study& study_;
};

// Pairs that are perhaps none, as of tensors that one run keeps larger, and that leave nothing in the
// results.
class LoosePairs : public RuleState {
 public:
  LoosePairs(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const auto loose = ledger.loose_pairs();
    if (loose.empty() || ledger.is_settled()) return;
    const auto singles = ledger.singles();
    // A choice may be the same of wrong numbers, as of those that a mask would hide.
    if (std::ranges::any_of(singles, [&](std::size_t place) { return chooses(study_.pairs[place]); })) return;
    std::vector<std::size_t> places;  // the operators of a pair are looked at like two that have no partner
    std::ranges::merge(loose, singles, std::back_inserter(places));
    if (!find_unexplained(study_, ledger, places, {}, ledger.noise()).empty()) return;
    note_singles(ledger, rule_.name, singles.size());
    ledger.note(rule_.name, counted(loose.size(), "operator", "are") +
                                " perhaps others in each run, and what follows agrees: no difference");
    ledger.excuse_all(rule_.name);
  }

 private:
  // Whether an operator of one run makes places of numbers, as the largest.
  bool chooses(const OperatorPair& pair) const {
    const bool is_golden = pair.golden != OperatorPair::kNone;
    const dump::Runs& runs = (is_golden ? study_.golden : study_.actual)->runs();
    bool reads_numbers = false, makes_places = false;
    for (const dump::Slot& slot : runs.slots(is_golden ? pair.golden : pair.actual)) {
      const bool is_input = slot.side == model::Side::input;
      reads_numbers |= is_input && model::is_floating(slot.dtype);
      makes_places |= !is_input && model::dtype_info(slot.dtype).kind == model::DTypeKind::signed_integer;
    }
    return reads_numbers && makes_places;
  }

  const Rule& rule_;
  const Study& study_;
};

// Operators that only one run has are no difference if the other run has what they make.
class SettlesSingles : public RuleState {
 public:
  SettlesSingles(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const auto singles = ledger.open_singles();
    if (singles.empty() || ledger.is_settled()) return;
    const std::vector<std::size_t> lacking = find_lacking_singles(singles, ledger);
    note_singles(ledger, rule_.name, singles.size() - lacking.size());
    std::optional<Accusation> first;
    if (!lacking.empty() && lacking.front() != singles.front()) first = judge(lacking.front());
    ledger.settle_singles(rule_.name, lacking, std::move(first));
  }

 protected:
  virtual std::vector<std::size_t> find_lacking_singles(std::span<const std::size_t> singles,
                                                        const Ledger& ledger) const = 0;
  const Study& study() const { return study_; }

 private:
  Accusation judge(std::size_t place) const {
    return {.rule = rule_.name, .op = measured(study_, place), .place = place};
  }

  const Rule& rule_;
  const Study& study_;
};

class ResultsElsewhere : public SettlesSingles {
 public:
  using SettlesSingles::SettlesSingles;

 private:
  std::vector<std::size_t> find_lacking_singles(std::span<const std::size_t> singles,
                                                const Ledger& ledger) const override {
    return find_unexplained(study(), ledger, singles, {}, ledger.noise());
  }
};

// The same where nobody knows who reads what they make.
class LackingStatistics : public SettlesSingles {
 public:
  using SettlesSingles::SettlesSingles;

 private:
  std::vector<std::size_t> find_lacking_singles(std::span<const std::size_t> singles,
                                                const Ledger& ledger) const override {
    const dump::Runs &golden = study().golden->runs(), &actual = study().actual->runs();
    if (const auto backward = find_one_sided_backward(study())) return {*backward};
    auto last = find_last_singles(golden, actual, study().pairs, singles);
    if (last.empty()) return last;
    const auto unexplained = find_unexplained(study(), ledger, last, {}, ledger.noise());
    return find_lacking(golden, actual, study().pairs, unexplained, ledger.noise(), ledger.uncertain());
  }
};

}  // namespace

const Rule kOtherWay{
    .name = "other-way",
    .sentence =
        "operators that hand on a difference are none if the two runs only compute the same in "
        "another order or by other operators, and what follows agrees",
    .stage = Stage::same_otherwise,
    .applies =
        [](const Study& study) {
          return study.has_dumps() && study.relation.sharded == nullptr && !study.by_gains;
        },
    .begin = begin_state<OtherWay>};
const Rule kLoosePairs{
    .name = "loose-pairs",
    .sentence =
        "operators that are perhaps others in each run, as their tensors have other sizes, they cast other "
        "types or count places from elsewhere, are no difference if operators read what they make, and all "
        "else agrees",
    .stage = Stage::same_otherwise,
    .applies =
        [](const Study& study) {
          return study.is_plain() && !study.by_gains && study.golden_wiring->is_recorded() &&
                 study.actual_wiring->is_recorded();
        },
    .begin = begin_state<LoosePairs>};
const Rule kResultsElsewhere{
    .name = "results-elsewhere",
    .sentence =
        "an operator that only one run has is no difference if the other run has its "
        "results, or nothing reads them",
    .stage = Stage::same_otherwise,
    .applies = [](const Study& study) { return study.has_dumps() && !study.by_gains; },
    .begin = begin_state<ResultsElsewhere>};
const Rule kLackingStatistics{
    .name = "lacking-statistics",
    .sentence = "the same by statistics, where the dumps lack what operators read",
    .stage = Stage::same_otherwise,
    .applies = [](const Study& study) { return study.has_dumps() && study.by_gains; },
    .begin = begin_state<LackingStatistics>};

}  // namespace opdump::compare
