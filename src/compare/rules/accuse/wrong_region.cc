#include <string>
#include <utility>

#include "base/text/text.h"
#include "compare/facts/arguments.h"
#include "compare/facts/unfinished.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/regions.h"

namespace opdump::compare {
namespace {

std::string describe_region(const Regions::Wrong& region) {
  return std::string("compiled region with a result that ") + (region.is_golden ? "actual" : "golden") +
         " lacks";
}

class WrongRegion : public RuleState {
 public:
  WrongRegion(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    regions_ = compare_regions(*study_.golden, *study_.actual, study_.pairs);
    const bool is_random =  // no kernel need be wrong
        regions_.wrong && has_own_random_numbers(make_region().run().form.get());
    if (!regions_.wrong || !accuses(ledger.first_bad(), is_random)) return;
    Accusation accusation{.rule = rule_.name,
                          .op = make_region(),
                          .place = regions_.wrong->place,
                          .followers = is_random ? "other random numbers" : "a compiled region"};
    OperatorComparison& op = accusation.op;
    op.rule = rule_.name;
    op.verdict = regions_.wrong->is_golden ? Verdict::missing : Verdict::extra;
    op.cause =
        is_random ? "generated code makes other random numbers than eager operators: to compare, record it "
                    "again with torch._inductor.config.fallback_random = True"
        : regions_.wrong->has_operators
            ? "a compiled region whose generated code gives another result than its operators, one that " +
                  std::string(regions_.wrong->is_golden ? "actual" : "golden") + " lacks"
            : "a " + describe_region(*regions_.wrong);
    ledger.accuse(std::move(accusation));
  }

  void remark(Ledger& ledger) override {
    note_backward(ledger);
    if (!regions_.wrong) {
      note_equal(ledger, regions_.golden.size(), true);
      note_equal(ledger, regions_.actual.size(), false);
      return;
    }
    const OperatorComparison op = make_region();
    const std::string source = op.run().op != nullptr ? model::format_source(*op.run().op) : "";
    ledger.note(rule_.name, operator_name(op.run()) + (source.empty() ? "" : " at " + source) +
                                " is the first " + describe_region(*regions_.wrong));
  }

 private:
  // What the region's operators do not explain needs no other sign. Without them, what follows must differ.
  bool accuses(const Accusation* standing, bool is_random) const {
    const bool is_sure = standing == nullptr || standing->op.verdict == Verdict::missing ||
                         standing->op.verdict == Verdict::extra;
    if (regions_.wrong->has_operators && is_sure) return true;
    if (standing == nullptr) return false;
    const bool is_wrong_by_itself =
        standing->op.verdict == Verdict::own_error || standing->op.verdict == Verdict::argument_differs;
    return standing->place >= regions_.wrong->place && (is_random || !is_wrong_by_itself);
  }

  // As an operator that the other run lacks.
  OperatorComparison make_region() const {
    OperatorPair pair = study_.pairs[regions_.wrong->place];
    (regions_.wrong->is_golden ? pair.actual : pair.golden) = OperatorPair::kNone;
    return make_operator(pair, *study_.golden, *study_.actual, study_.relation);
  }

  void note_equal(Ledger& ledger, std::size_t count, bool of_golden) const {
    if (count == 0) return;
    ledger.cover().cover_by_regions(of_golden);
    ledger.note(rule_.name,
                std::string(of_golden ? "actual" : "golden") + " has the results of " +
                    (count == 1 ? "the compiled region" : "all " + counted(count, "compiled region")) +
                    " of " + (of_golden ? "golden" : "actual"));
  }

  // A loss, but none that leaves a result open.
  void note_backward(Ledger& ledger) const {
    const bool of_golden = lacks_backward_of_regions(*study_.golden),
               of_actual = lacks_backward_of_regions(*study_.actual);
    if (!of_golden && !of_actual) return;
    const std::string sides = !of_actual ? "golden" : !of_golden ? "actual" : "golden and actual";
    ledger.note(rule_.name, "the backward pass of compiled regions is not recorded in " + sides +
                                ": of it, gradients that operators read are compared");
  }

  const Rule& rule_;
  const Study& study_;
  Regions regions_;
};

}  // namespace

const Rule kWrongRegion{.name = "wrong-region",
                        .sentence =
                            "a compiled region with a result that the other run lacks is where what differs "
                            "begins, unless an operator is wrong by itself",
                        .stage = Stage::accuse,
                        .applies = [](const Study& study) { return study.has_dumps(); },
                        .begin = begin_state<WrongRegion>};

}  // namespace opdump::compare
