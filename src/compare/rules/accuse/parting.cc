#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/single.h"
#include "compare/rules/measured.h"

namespace opdump::compare {
namespace {

// Of what the parting operator is made of, the last result that both runs have.
const OperatorPair* find_last_common(const Study& study, const OperatorPair& parting) {
  std::map<std::uint32_t, const OperatorPair*> common;  // by golden's execution
  for (const OperatorPair& pair : study.pairs)
    if (pair.fusion == Fusion::result) common.emplace(pair.golden, &pair);
  const dump::Runs& runs = study.golden->runs();
  std::set<std::uint32_t> open{parting.golden};
  while (!open.empty()) {
    const std::uint32_t execution = *open.rbegin();
    open.erase(execution);
    if (const auto found = common.find(execution); found != common.end()) return found->second;
    for (const dump::Slot& slot : runs.slots(execution)) {
      if (slot.side != model::Side::input) continue;
      for (const std::uint32_t writer : study.golden_wiring->writers(execution, slot.index).executions)
        if (writer < execution) open.insert(writer);
    }
  }
  return nullptr;
}

class WhereValuesPart : public RuleState {
 public:
  WhereValuesPart(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const auto pair = std::ranges::find(study_.pairs, Fusion::parting, &OperatorPair::fusion);
    if (pair == study_.pairs.end()) return;
    const auto place = static_cast<std::size_t>(pair - study_.pairs.begin());
    OperatorComparison op = measured(study_, place);
    if (op.cause.empty()) {
      const auto of = [&](const OperatorPair& both, std::string_view here) {
        return describe_call(study_.golden->runs(), both.golden) + std::string(here) + ", actual " +
               describe_call(study_.actual->runs(), both.actual);
      };
      op.cause =
          "golden computes " + of(*pair, " here") + ", and nothing that is made of the two is in both runs";
      if (const OperatorPair* const last = find_last_common(study_, *pair))
        op.cause += "; before it, both have what golden computes with " + of(*last, "");
    }
    op.rule = rule_.name;
    ledger.accuse({.rule = rule_.name, .op = std::move(op), .place = place});
    has_parted_ = true;
  }

  void remark(Ledger& ledger) override {
    if (has_parted_)
      ledger.note(
          rule_.name,
          "what is right, but in another layout or order, is in neither run's results behind a "
          "difference: opdump blame tries golden's results in actual's place, and may name other lines");
  }

 private:
  const Rule& rule_;
  const Study& study_;
  bool has_parted_ = false;
};

}  // namespace

const Rule kWhereValuesPart{
    .name = "where-values-part",
    .sentence =
        "of two programs that compute the same by other operators: the first line whose results, and all "
        "that is made of them, the other run lacks",
    .stage = Stage::accuse,
    .applies = [](const Study& study) { return study.has_dumps() && study.relation.is_across; },
    .begin = begin_state<WhereValuesPart>};

}  // namespace opdump::compare
