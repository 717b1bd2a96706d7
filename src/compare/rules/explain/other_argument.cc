#include <algorithm>
#include <string>

#include "compare/facts/arguments.h"
#include "compare/key_slots.h"
#include "compare/measure/sharded/sharded_slot.h"
#include "compare/rules/explain/explain.h"

namespace opdump::compare {
namespace {

// Of several ranks, the first one with an output that differs against one that is right, or else golden.
std::optional<ArgumentDifference> find_difference(const OperatorComparison& op) {
  const auto bad = std::ranges::find_if(op.slots, [](const SlotComparison& slot) {
    return slot.sharded != nullptr && !slot.wrong_ranks.empty() && side_of(slot) == model::Side::output;
  });
  if (bad == op.slots.end()) return find_argument_difference(*op.golden, *op.actual);
  const std::vector<std::uint32_t>& ranks = bad->sharded->ranks;
  const auto is_wrong = [&](std::uint32_t rank) { return std::ranges::count(bad->wrong_ranks, rank) > 0; };
  const auto place_of = [&](auto rank) { return static_cast<std::size_t>(rank - ranks.begin()); };
  const auto wrong = std::ranges::find_if(ranks, is_wrong), right = std::ranges::find_if_not(ranks, is_wrong);
  const dump::OperatorRun& shard = *op.shards[place_of(wrong)];
  if (right != ranks.end() && op.shards[place_of(right)] != nullptr)
    return find_argument_difference(
        *op.shards[place_of(right)], shard,
        {.golden = "on rank " + std::to_string(*right), .actual = "on rank " + std::to_string(*wrong)});
  return bad->sharded->is_golden ? find_argument_difference(shard, *op.actual, {.are_shards = true})
                                 : find_argument_difference(*op.golden, shard, {.are_shards = true});
}

// An argument or a constant that differs explains an output if no other input differs.
class OtherArgument : public RuleState {
 public:
  bool look(OperatorComparison& op, Ledger&) override {
    const bool only_reads = op.verdict == Verdict::input_differs;
    if (!has_bad_output(op.verdict) && !only_reads) return false;
    const auto difference = find_difference(op);
    if (!difference) return false;
    const bool has_other = std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
      return side_of(slot) == model::Side::input && is_difference(slot.verdict) &&
             !difference->constants.contains(slot.golden->index);
    });
    const bool explains = !has_other || !only_reads;
    if (explains) op.cause = difference->text;
    if (has_other || only_reads) return explains;
    for (SlotComparison& slot : op.slots)
      if (slot.verdict == op.verdict) slot.verdict = Verdict::argument_differs;
    op.verdict = Verdict::argument_differs;
    return true;
  }
};

}  // namespace

const Rule kOtherArgument{.name = "other-argument",
                          .sentence =
                              "an argument or a constant of the program that differs explains the outputs, "
                              "if no other input differs",
                          .stage = Stage::cause,
                          .begin = begin_state<OtherArgument>};

}  // namespace opdump::compare
