#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/text/text.h"
#include "compare/names.h"
#include "compare/rules/accuse/accuse.h"
#include "compare/rules/accuse/single.h"
#include "compare/rules/measured.h"

namespace opdump::compare {
namespace {

std::string describe(const dump::Runs& runs, std::uint32_t execution) {
  const dump::OperatorRun run = runs.without_slots(execution);
  const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
  return one_line(run.type) + (source.empty() ? "" : " at " + source);
}

class WhereValuesPart : public RuleState {
 public:
  WhereValuesPart(const Rule& rule, const Study& study) : rule_(rule), study_(study) {}

  void settle(Ledger& ledger) override {
    const auto pair = std::ranges::find(study_.pairs, Fusion::parting, &OperatorPair::fusion);
    if (pair == study_.pairs.end()) return;
    const auto place = static_cast<std::size_t>(pair - study_.pairs.begin());
    OperatorComparison op = measured(study_, place);
    if (op.cause.empty())
      op.cause = "golden computes " + describe(study_.golden->runs(), pair->golden) + " here, actual " +
                 describe(study_.actual->runs(), pair->actual) +
                 ", and nothing that is made of the two is in both runs";
    op.rule = rule_.name;
    ledger.accuse({.rule = rule_.name, .op = std::move(op), .place = place});
  }

 private:
  const Rule& rule_;
  const Study& study_;
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
