#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "compare/key_slots.h"
#include "compare/measure/measure.h"
#include "compare/names.h"
#include "compare/rules/explain/explain.h"
#include "compare/rules/leave_out/leave_out.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

// Bit by bit, where there are tensors.
bool differs(const SlotComparison& slot) {
  if (slot.metrics) return slot.metrics->max_abs > 0 || slot.metrics->nan_mismatch_count > 0;
  return slot.from_statistics && slot.verdict == Verdict::own_error;
}

// A collective moves the error of one rank to all others, so that on these its output differs and its inputs
// do not.
class OtherRankState : public RuleState {
 public:
  explicit OtherRankState(const Study& study) : study_(study) {}

  bool look(OperatorComparison& op, Ledger&) override {
    if (op.golden == nullptr || op.actual == nullptr ||
        !model::has_trait(op.run().type, model::Trait::collective))
      return false;
    const auto is_bad = [&](model::Side side) {
      return std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
        return side_of(slot) == side && slot.verdict == Verdict::own_error;
      });
    };
    if (!is_bad(model::Side::output) || is_bad(model::Side::input)) return false;
    if (!is_found_) find();
    const auto found = places_.find({op.run().step, operator_name(op.run())});
    if (found == places_.end()) return false;
    for (const std::size_t place : found->second)
      if (study_.golden->runs().section_of(study_.pairs[place].golden).rank != op.run().rank)
        look_at_rank(op, place);
    return op.other_rank.has_value();
  }

 private:
  using Key = std::pair<std::int64_t, std::string>;  // step, name

  void find() {
    is_found_ = true;
    for (std::size_t i = 0; i < study_.pairs.size(); ++i) {
      if (!study_.pairs[i].is_whole()) continue;
      const dump::OperatorRun run = study_.golden->runs().without_slots(study_.pairs[i].golden);
      if (model::has_trait(run.type, model::Trait::collective))
        places_[{run.step, operator_name(run)}].push_back(i);
    }
  }

  void look_at_rank(OperatorComparison& op, std::size_t place) const {
    OperatorComparison other =
        make_operator(study_.pairs[place], *study_.golden, *study_.actual, study_.relation);
    for (SlotComparison& slot : other.slots) {
      if (side_of(slot) != model::Side::input) continue;
      measure_slot(slot, *study_.options, 1);
      if (!differs(slot)) continue;
      const double distance = slot.metrics ? slot.metrics->relative_l2 : 0;
      if (!op.other_rank || distance > op.other_rank->relative_l2)
        op.other_rank = OtherRank{other.run().rank, distance};
    }
  }

  const Study& study_;
  bool is_found_ = false;
  std::map<Key, std::vector<std::size_t>> places_;  // in the pairs, by what they have in common on all ranks
};

class FedByOtherRank : public RuleState {
 public:
  bool look(OperatorComparison& op, Ledger&) override {
    if (!op.cause.empty() || !op.other_rank || !has_bad_output(op.verdict)) return false;
    op.cause = "the inputs of rank " + std::to_string(op.other_rank->rank) + " differ";
    return true;
  }
};

}  // namespace

const Rule kOtherRank{
    .name = "other-rank",
    .sentence = "a collective reads what the other ranks give it: their differences are its own",
    .stage = Stage::leave_out,
    .applies = [](const Study& study) { return study.has_dumps() && study.relation.sharded == nullptr; },
    .begin = begin_state<OtherRankState>};
const Rule kFedByOtherRank{.name = "fed-by-other-rank",
                           .sentence = "a collective whose own inputs match differs by those of another rank",
                           .stage = Stage::explain,
                           .begin = begin_state<FedByOtherRank>};

}  // namespace opdump::compare
