#include "blame/differences.h"

#include <algorithm>

#include "compare/conditioning.h"
#include "compare/key_slots.h"

namespace opdump::blame {

using compare::OperatorComparison;
using compare::SlotComparison;
using compare::Verdict;

namespace {

// Of weights and data: another machine rounds torch.randn by some units otherwise.
constexpr double kInputRoundoffs = 32;

}  // namespace

bool is_paired(const OperatorComparison& op) { return op.golden != nullptr && op.actual != nullptr; }

bool differs(const SlotComparison& slot) {
  if (slot.golden == nullptr || slot.actual == nullptr) return false;
  if (slot.quantisation_step > 0 && compare::is_fine(slot.verdict)) return false;
  if (slot.metrics) return slot.metrics->max_abs > 0 || slot.metrics->nan_mismatch_count > 0;
  return slot.verdict != Verdict::match && slot.verdict != Verdict::skipped &&
         slot.verdict != Verdict::unreadable;
}

bool differs(const OperatorComparison& op, model::Side side) {
  return std::ranges::any_of(
      op.slots, [&](const SlotComparison& slot) { return compare::side_of(slot) == side && differs(slot); });
}

double distance_of(const OperatorComparison& op, model::Side side) {
  double worst = 0;
  for (const SlotComparison& slot : op.slots)
    if (compare::side_of(slot) == side && slot.metrics) worst = std::max(worst, slot.metrics->relative_l2);
  return worst;
}

bool amplifies(const OperatorComparison& op) {
  constexpr double kMuch = 100;
  const double read = distance_of(op, model::Side::input);
  return read > 0 && !(distance_of(op) <= kMuch * read);
}

double roundoff(const OperatorComparison& op) {
  double coarsest = 0;
  for (const SlotComparison& slot : op.slots)
    if (compare::side_of(slot) == model::Side::output && slot.metrics)
      coarsest =
          std::max({coarsest, compare::roundoff(slot.golden->dtype), compare::roundoff(slot.actual->dtype)});
  return coarsest;
}

bool is_rounded(const SlotComparison& slot) {
  const model::DType golden = slot.golden->dtype, actual = slot.actual->dtype;
  if (!slot.metrics || slot.metrics->nan_mismatch_count > 0) return false;
  const double u = std::max(compare::roundoff(golden), compare::roundoff(actual));
  return golden == actual ? slot.metrics->relative_l2 <= kInputRoundoffs * u
                          : slot.metrics->max_rel <= 1.01 * u;
}

std::optional<std::uint32_t> find_sequence(std::span<const OperatorComparison> ops, double rounding,
                                           double roundoffs) {
  std::optional<std::uint32_t> first;  // since the last operator of both runs
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    if (!is_paired(ops[i])) {
      if (!first && ops[i].left_out.empty()) first = i;
      continue;
    }
    const double distance = distance_of(ops[i]);
    if (distance == 0) continue;
    const double limit = std::max(rounding, roundoffs * roundoff(ops[i]));
    if (distance >= limit && !compare::is_fine(ops[i].verdict)) return first;
    first.reset();
  }
  return std::nullopt;
}

}  // namespace opdump::blame
