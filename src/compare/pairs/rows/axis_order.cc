#include "compare/pairs/rows/axis_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/frame/scope.h"
#include "compare/pairs/rows/common_rows.h"
#include "compare/pairs/rows/match_rows.h"
#include "compare/pairs/rows/row_origin.h"

namespace opdump::compare {
namespace {

using model::Shape;

constexpr std::size_t kUnmoved = SIZE_MAX;
constexpr std::size_t kMostOrders = 12;
constexpr std::size_t kMostSplits = 64;  // of a tensor

// A factor of an axis: one of the moved axes, or of none of them.
struct Piece {
  std::size_t moved = kUnmoved;
  std::int64_t size = 1;
  std::size_t axis = 0;  // of the tensor
};
using Pieces = std::vector<Piece>;

// The ways to write `size` as a product of moved axes that `taken` does not have, in any order, and a rest.
std::vector<Pieces> products_of(const std::vector<std::int64_t>& moved, std::int64_t size, std::size_t axis,
                                std::vector<bool>& taken) {
  std::vector<Pieces> found{{{.size = size, .axis = axis}}};
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (taken[i] || moved[i] < 2 || size % moved[i] != 0) continue;
    const Piece piece{.moved = i, .size = moved[i], .axis = axis};
    taken[i] = true;
    if (size == moved[i]) {
      found.push_back({piece});
    } else {
      for (Pieces& rest : products_of(moved, size / moved[i], axis, taken)) {
        rest.insert(rest.begin(), piece);
        found.push_back(std::move(rest));
      }
    }
    taken[i] = false;
  }
  return found;
}

std::vector<Pieces> splits_of(const std::vector<std::int64_t>& moved, const Shape& shape) {
  std::vector<Pieces> found{{}};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    std::vector<Pieces> longer;
    for (const Pieces& begin : found) {
      std::vector<bool> taken(moved.size());
      for (const Piece& piece : begin)
        if (piece.moved != kUnmoved) taken[piece.moved] = true;
      for (const Pieces& product : products_of(moved, shape[axis], axis, taken)) {
        longer.push_back(begin);
        longer.back().insert(longer.back().end(), product.begin(), product.end());
      }
    }
    if (longer.size() > kMostSplits) longer.resize(kMostSplits);
    found = std::move(longer);
  }
  return found;
}

PartPlan plan_of(const Pieces& golden, const Pieces& actual, std::vector<std::size_t> order) {
  const auto factors_of = [](const Pieces& pieces) {
    std::vector<std::int64_t> sizes;
    Factors factors;
    for (const Piece& piece : pieces) {
      sizes.push_back(piece.size);
      factors.axes.push_back(piece.axis);
    }
    factors.sizes = Shape(sizes);
    return factors;
  };
  PartPlan plan{.golden = factors_of(golden), .actual = factors_of(actual), .order = std::move(order)};
  const Shape begin(std::vector<std::int64_t>(golden.size(), 0));
  plan.parts.push_back({begin, begin, plan.golden.sizes});
  return plan;
}

// Where each of golden's pieces is in actual's. Nothing if they have not the same pieces, or those that have
// not moved in another order.
std::optional<std::vector<std::size_t>> find_order(const Pieces& golden, const Pieces& actual) {
  if (golden.size() != actual.size()) return std::nullopt;
  std::vector<std::size_t> order;
  std::size_t next = 0;  // of actual's, behind the last that has not moved
  for (const Piece& piece : golden) {
    std::size_t place = piece.moved == kUnmoved ? next : 0;
    while (place < actual.size() && actual[place].moved != piece.moved) ++place;
    if (place == actual.size() || actual[place].size != piece.size) return std::nullopt;
    if (piece.moved == kUnmoved) next = place + 1;
    order.push_back(place);
  }
  return order;
}

// Axes of which one tensor has several for one of the other's; nothing if they are cut elsewhere, or if both
// have the same axes in another order, as (8,4) and (4,8).
std::optional<PartPlan> find_reshape(const Shape& golden, const Shape& actual) {
  if (golden != actual && std::ranges::is_permutation(golden.dims(), actual.dims())) return std::nullopt;
  Pieces g, a;
  std::size_t in_golden = 0, in_actual = 0;
  std::int64_t of_golden = 1, of_actual = 1;  // what is left of their axes
  while (true) {
    while (of_golden == 1 && in_golden < golden.rank()) of_golden = golden[in_golden++];
    while (of_actual == 1 && in_actual < actual.rank()) of_actual = actual[in_actual++];
    if (of_golden == 1 && of_actual == 1) break;
    const std::int64_t size = std::min(of_golden, of_actual);
    if (size < 2 || of_golden % size != 0 || of_actual % size != 0) return std::nullopt;
    g.push_back({.size = size, .axis = in_golden - 1});
    a.push_back({.size = size, .axis = in_actual - 1});
    of_golden /= size;
    of_actual /= size;
  }
  std::vector<std::size_t> order(g.size());
  std::iota(order.begin(), order.end(), 0);
  return plan_of(g, a, std::move(order));
}

bool merges_moved(const Pieces& pieces) {
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i].axis == pieces[i - 1].axis && pieces[i].moved != kUnmoved &&
        pieces[i - 1].moved != kUnmoved)
      return true;
  return false;
}

// The axes that `slot`, data of the programs, has in another order in actual; empty if it does not show that.
std::vector<std::int64_t> moved_axes(const PairedRuns& runs, std::size_t place, const ShapedSlot& slot) {
  std::vector<std::int64_t> sizes(slot.golden.dims().begin(), slot.golden.dims().end()),
      others(slot.actual.dims().begin(), slot.actual.dims().end());
  std::ranges::sort(sizes);
  std::ranges::sort(others);
  if (!slot.has_data || sizes != others || slot.golden.rank() < 2) return {};
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const auto golden = runs.read_input(true, place, slot.index),
             actual = runs.read_input(false, place, slot.index);
  if (!golden || !actual || golden->view().dtype != actual->view().dtype) return {};
  for (PartPlan& plan : AxisOrder(sizes).plans(slot.golden, slot.actual)) {
    if (std::ranges::is_sorted(plan.order)) continue;
    std::vector<std::int64_t> moved;
    for (std::size_t i = 0; i < plan.order.size(); ++i)
      if (plan.order[i] != i) moved.push_back(plan.golden.sizes[i]);
    if (agree({.plans = {std::move(plan)}, .left_out = {}}, golden->view(), actual->view())) return moved;
  }
  return {};
}

// In the first step of which tensors have other shapes: its data tells.
std::vector<std::int64_t> find_moved_axes(const PairedRuns& runs, std::string& by) {
  RowOrigins origins(runs);
  for (std::size_t place = 0; place < runs.pairs().size(); ++place) {
    const OperatorPair& pair = runs.pairs()[place];
    if (!pair.is_whole()) continue;
    const dump::OperatorRun run = runs.runs(true).without_slots(pair.golden);
    if (phase_of(run) != model::Phase::forward || kind_of(run.type).role != OperatorRole::computes) continue;
    for (const ShapedSlot& slot : runs.slots(place)) {
      if (slot.side != model::Side::input || !slot.is_other_shape()) continue;
      const RowOrigin origin =
          std::max(origins.of(true, pair.golden, slot.index), origins.of(false, pair.actual, slot.index));
      if (origin > RowOrigin::chosen) continue;
      std::vector<std::int64_t> moved = moved_axes(runs, place, slot);
      if (moved.empty()) continue;
      by = "input." + std::to_string(slot.index) + " of " + one_line(operator_name(run)) + " is " +
           model::format_shape(slot.golden) + " in golden and " + model::format_shape(slot.actual) +
           " in actual, with equal elements";
      return moved;
    }
  }
  return {};
}

// Whether the tensors of a pair may have the same elements.
bool fits(const PairedRuns& runs, std::size_t place, const AxisOrder& order) {
  return std::ranges::none_of(runs.slots(place), [&](const ShapedSlot& slot) {
    return slot.is_other_shape() && order.plans(slot.golden, slot.actual).empty();
  });
}

// Autograd computes the gradients of a product's two factors in an order of its own: operators of one name
// that do not fit exchange their partners if both fit then. `pairs` are those of `runs`.
void exchange_partners(const PairedRuns& runs, const AxisOrder& order, std::vector<OperatorPair>& pairs) {
  using Key = std::tuple<std::uint32_t, std::int64_t, std::string>;  // rank, step, scope with the type
  std::map<Key, std::vector<std::size_t>> misfits;
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    if (!pairs[place].is_whole() || fits(runs, place, order)) continue;
    const dump::OperatorRun run = runs.runs(true).without_slots(pairs[place].golden);
    auto& others = misfits[{run.rank, run.step, std::string(without_number(run.name, run.type))}];
    const auto partner = std::ranges::find_if(others, [&](std::size_t other) {
      std::swap(pairs[place].actual, pairs[other].actual);
      const bool is_better = fits(runs, place, order) && fits(runs, other, order);
      if (!is_better) std::swap(pairs[place].actual, pairs[other].actual);
      return is_better;
    });
    partner == others.end() ? others.push_back(place) : static_cast<void>(others.erase(partner));
  }
}

// Whether there are tensors of other shapes, and all of them may have the same elements.
bool explains_shapes(const PairedRuns& runs, const AxisOrder& order) {
  bool has_other = false;
  for (std::size_t place = 0; place < runs.pairs().size(); ++place) {
    if (!runs.pairs()[place].is_whole()) continue;
    if (!fits(runs, place, order)) return false;
    has_other = has_other || std::ranges::any_of(runs.slots(place), &ShapedSlot::is_other_shape);
  }
  return has_other;
}

// One run moves what the other one computes with as it is.
void leave_moves_out(const RunsOfBoth& runs, std::vector<OperatorPair>& pairs) {
  for (OperatorPair& pair : pairs) {
    if (pair.is_whole() || pair.is_alone || pair.fusion != Fusion::none) continue;
    const bool is_golden = pair.golden != OperatorPair::kNone;
    const dump::OperatorRun run =
        (is_golden ? runs.golden : runs.actual).without_slots(is_golden ? pair.golden : pair.actual);
    if (kind_of(run.type).role == OperatorRole::moves) pair.fusion = Fusion::moves;
  }
}

}  // namespace

std::vector<PartPlan> AxisOrder::plans(const Shape& golden, const Shape& actual) const {
  std::vector<PartPlan> found;
  if (auto same = find_reshape(golden, actual)) found.push_back(std::move(*same));
  const bool is_same_shape = golden == actual;
  for (const Pieces& g : splits_of(moved_, golden))
    for (const Pieces& a : splits_of(moved_, actual)) {
      if (found.size() >= kMostOrders) return found;
      // Tensors of one shape have merged axes in another order, or none.
      if (is_same_shape && (!merges_moved(g) || !merges_moved(a))) continue;
      auto order = find_order(g, a);
      if (!order || std::ranges::is_sorted(*order)) continue;
      found.push_back(plan_of(g, a, std::move(*order)));
    }
  return found;
}

void AxisOrder::add_parts(OperatorComparison& op) const {
  for (SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr || !slot.golden->shape || !slot.actual->shape)
      continue;
    std::vector<PartPlan> ways = plans(*slot.golden->shape, *slot.actual->shape);
    if (ways.empty() || (ways.size() == 1 && *slot.golden->shape == *slot.actual->shape)) continue;
    slot.parts = std::make_shared<const SlotParts>(SlotParts{.plans = std::move(ways), .left_out = {}});
  }
}

std::unique_ptr<const AxisOrder> pair_axis_order(const RunsOfBoth& runs, Pairing& pairing) {
  const auto& [golden, actual, tails, filters] = runs;
  if (!pairing.has_reshaped && !CommonRows::may_be_other(golden, actual, pairing.pairs)) return nullptr;
  Pairing by_name = pair_operators(golden, actual, tails, true, filters);
  const PairedRuns paired(golden, actual, by_name.pairs);
  if (!paired.wiring(true).is_recorded() || !paired.wiring(false).is_recorded()) return nullptr;
  std::string by;
  auto order = std::make_unique<const AxisOrder>(find_moved_axes(paired, by));
  exchange_partners(paired, *order, by_name.pairs);
  // Where the data has moved axes, a tensor that does not fit is a fault.
  if (by.empty() && !explains_shapes(paired, *order)) return nullptr;
  by_name.notes.push_back(
      by.empty() ? "one run has axes that the other one has merged: their elements are compared in order"
                 : "actual has axes in another order: " + by);
  leave_moves_out(runs, by_name.pairs);
  pairing = std::move(by_name);
  return order;
}

}  // namespace opdump::compare
