#include "compare/pairs/make_operator.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compare/facts/arguments.h"
#include "compare/facts/element_lists.h"
#include "compare/matrix_units.h"
#include "compare/pairs/across/pair_across.h"
#include "compare/pairs/pair_slots.h"
#include "compare/pairs/rows/axis_order.h"
#include "compare/pairs/rows/common_rows.h"

namespace opdump::compare {
namespace {

bool have_argument_names(const dump::OperatorRun& run) {
  return std::ranges::any_of(run.slots, [](const dump::Slot& slot) { return !slot.argument.empty(); });
}

std::string explain_left_out(Fusion fusion) {
  switch (fusion) {
    case Fusion::fused:
      return "only the outputs of the last of several fused operators are compared";
    case Fusion::part:
      return "part of a fused operator";
    case Fusion::added:
      return "added by the engine";
    case Fusion::unlogged:
      return "outside of what the log covers";
    case Fusion::filtered:
      return "the other dump was not to have it";
    case Fusion::before:
      return "of a step before the checkpoint that the other run goes on from";
    case Fusion::moves:
      return "only moves data";
    case Fusion::makes:
      return "makes constants, shapes or random numbers";
    case Fusion::foreign:
      return "the other framework has no operator that computes the same";
    case Fusion::quantises:
      return "quantises";
    case Fusion::quantised:
      return "a dequantisation stands for it";
    case Fusion::collective:
      return "a collective";
    case Fusion::undivided:
      return "the other run has no operator that computes the same";
    case Fusion::result:
      return "each run makes it in its own way: only the result is compared";
    case Fusion::inside:
      return "each run computes this in its own way";
    case Fusion::parting:
    case Fusion::folded:
    case Fusion::none:
      break;
  }
  return {};
}

// Whether both call one function of one framework with tensors of the same shapes.
bool are_same_call(const dump::OperatorRun& golden, const dump::OperatorRun& actual) {
  if (golden.form == nullptr || actual.form == nullptr || golden.form->function.empty() ||
      golden.form->function != actual.form->function)
    return false;
  return std::ranges::equal(golden.slots, actual.slots, [](const dump::Slot& g, const dump::Slot& a) {
    return g.side == a.side && g.index == a.index && g.shape == a.shape;
  });
}

// What frameworks have not in common, as the running statistics of a batch normalisation, two calls of one
// function do: each tensor that has no partner is that of its index.
std::vector<SlotPair> pair_all_slots_across(const dump::OperatorRun& golden, const dump::OperatorRun& actual,
                                            bool has_other_weights) {
  std::vector<SlotPair> pairs = pair_slots_across(golden, actual, has_other_weights);
  if (has_other_weights || !are_same_call(golden, actual)) return pairs;
  for (SlotPair& pair : pairs) {
    if (pair.golden == nullptr || pair.actual != nullptr) continue;
    const auto same = std::ranges::find_if(pairs, [&](const SlotPair& other) {
      return other.golden == nullptr && other.actual != nullptr && other.actual->side == pair.golden->side &&
             other.actual->index == pair.golden->index;
    });
    if (same != pairs.end()) pair.actual = std::exchange(same->actual, nullptr);
  }
  std::erase_if(pairs, [](const SlotPair& pair) { return pair.golden == nullptr && pair.actual == nullptr; });
  return pairs;
}

}  // namespace

OperatorComparison make_operator(const OperatorPair& pair, const dump::DumpSet& golden,
                                 const dump::DumpSet& actual, const RunRelation& relation) {
  const auto& [is_across, sharded, quantisation, rows, axes, units] = relation;
  static const dump::OperatorRun kNothing;
  OperatorComparison op;
  op.is_alone = pair.is_alone;
  op.paired_by = pair.paired_by;
  op.confidence = pair.confidence;
  op.fusion = pair.fusion;
  op.is_across = is_across;
  op.lacks_slots = !golden.runs().have_full_scopes() || !actual.runs().have_full_scopes();
  op.left_out = explain_left_out(pair.fusion);
  op.is_filtered = pair.fusion == Fusion::filtered;
  op.is_before_other = pair.fusion == Fusion::before;
  if (pair.golden != OperatorPair::kNone)
    op.golden =
        std::make_shared<const dump::OperatorRun>(join_runs(golden.runs(), pair.golden_first, pair.golden));
  if (pair.actual != OperatorPair::kNone) {
    dump::OperatorRun run = join_runs(actual.runs(), pair.actual_first, pair.actual);
    if (pair.order != nullptr) use_order_of_golden(run, *pair.order);
    op.actual = std::make_shared<const dump::OperatorRun>(std::move(run));
  }
  const dump::OperatorRun& in_golden = op.golden != nullptr ? *op.golden : kNothing;
  const dump::OperatorRun& in_actual = op.actual != nullptr ? *op.actual : kNothing;
  const bool by_name = have_argument_names(in_golden) && have_argument_names(in_actual);
  const bool has_partner = op.golden != nullptr && op.actual != nullptr;
  const bool by_shards = sharded != nullptr && has_partner && in_golden.type != in_actual.type;
  const std::vector<SlotPair> pairs =
      (is_across && has_partner) ? pair_all_slots_across(in_golden, in_actual, pair.fusion == Fusion::folded)
      : by_shards                ? sharded->pair_slots(in_golden, in_actual)
                                 : pair_slots(in_golden, in_actual, by_name);
  for (const SlotPair& slots : pairs) {
    SlotComparison& slot = op.slots.emplace_back();
    slot.any_layout = is_across || is_rewritten_by_engine(op.golden.get(), op.actual.get());
    slot.golden = slots.golden;
    slot.actual = slots.actual;
    if (units != nullptr) slot.rounds_as = units->as;
  }
  if (sharded != nullptr) sharded->add_ranks(op, pair);
  if (quantisation != nullptr) quantisation->add_steps(op);
  if (rows != nullptr) rows->add_parts(op, pair);
  if (axes != nullptr) axes->add_parts(op);
  return op;
}

}  // namespace opdump::compare
