#include "compare/sharded/pair_shards.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text/text.h"
#include "compare/across/operator_kind.h"
#include "compare/across/pair_across.h"
#include "compare/names.h"
#include "compare/sharded/measure_shards.h"
#include "compare/sharded/recorded_layout.h"
#include "compare/sharded/shard_layout.h"
#include "math/sum.h"

namespace opdump::compare {
namespace {

using dump::OperatorRun;
using dump::Runs;
using dump::Slot;

constexpr std::uint32_t kNone = OperatorPair::kNone;
constexpr double kClose = 1e-5;           // losses
constexpr double kNear = 1e-3;            // results of the same operator
constexpr std::size_t kMostTried = 1024;  // pairs of operators of one kind in one module

bool is_collective(std::string_view type) {
  constexpr std::string_view kParts[] = {
      "c10d",           "allreduce",      "all_reduce",      "allgather", "all_gather",
      "broadcast",      "alltoall",       "all_to_all",      "barrier",   "wait_tensor",
      "reduce_scatter", "scatter_tensor", "_c10d_functional"};
  return std::ranges::any_of(
      kParts, [&](std::string_view part) { return type.find(part) != std::string_view::npos; });
}

model::Phase phase_of(const OperatorRun& run) {
  return run.op != nullptr ? run.op->phase : model::Phase::forward;
}

// What operators of both runs have in common, whatever classes of modules they are in.
using PathKey = std::tuple<std::int64_t, model::Phase, std::string, std::string>;  // step, phase, path, kind
PathKey key_of(const Runs& runs, std::uint32_t index) {
  const OperatorRun run = runs.without_slots(index);
  return {runs.section_of(index).step, phase_of(run), module_path(operator_name(run)),
          kind_of(run.type).name};
}

std::vector<model::Shape> shapes_of(const Runs& runs, std::uint32_t index, model::Side side) {
  std::vector<model::Shape> shapes;
  for (const Slot& slot : runs.slots(index))
    if (slot.side == side) shapes.push_back(slot.shape.value_or(model::Shape{-1}));
  return shapes;
}

std::optional<double> scalar_of(const Slot& slot) {
  if (slot.file.empty() || !slot.shape || model::element_count(*slot.shape) != 1 ||
      !model::is_floating(slot.dtype))
    return std::nullopt;
  const auto tensor = dump::StoredTensor::read(slot);
  if (!tensor || tensor->view().element_count() != 1) return std::nullopt;
  double value = 0;
  math::sum_tensors({&tensor->view(), 1}, 1, {&value, 1});
  return value;
}

// The number of parts of the batch over which `values`, one for each rank, must be averaged to give `whole`.
std::size_t count_parts(const std::vector<double>& values, double whole) {
  const auto is_close = [&](double value) { return std::abs(value - whole) <= kClose * std::abs(whole); };
  if (std::ranges::all_of(values, is_close)) return 1;
  const std::size_t ranks = values.size();
  for (std::size_t parts = 2; parts <= ranks; ++parts) {
    if (ranks % parts != 0) continue;
    const std::size_t groups = ranks / parts;
    for (const auto& [step, first] : {std::pair(groups, std::size_t{1}), std::pair(std::size_t{1}, parts)}) {
      bool fits = true;
      for (std::size_t group = 0; group < groups; ++group) {
        double sum = 0;
        for (std::size_t part = 0; part < parts; ++part) sum += values[group * first + part * step];
        fits = fits && is_close(sum / static_cast<double>(parts));
      }
      if (fits) return parts;
    }
  }
  return 1;
}

}  // namespace

std::optional<ShardedRuns> ShardedRuns::find(const Runs& golden, const Runs& actual) {
  const auto ranks_of = [](const Runs& runs) {
    std::set<std::uint32_t> ranks;
    for (std::uint32_t i = 0; i < runs.section_count(); ++i) ranks.insert(runs.section(i).rank);
    return ranks;
  };
  const std::set<std::uint32_t> g = ranks_of(golden), a = ranks_of(actual);
  if ((g.size() == 1) == (a.size() == 1) || g.empty() || a.empty() || *g.begin() != *a.begin())
    return std::nullopt;
  return ShardedRuns(golden, actual, g.size() > 1);
}

// Whether one is a shard of the other, or all of it.
bool ShardedRuns::is_part(const model::Shape& golden, const model::Shape& actual) const {
  const std::size_t axes = std::min(golden.rank(), actual.rank());
  const model::Shape whole = fold_axes(is_golden_ ? actual : golden, axes);
  const model::Shape part = fold_axes(is_golden_ ? golden : actual, axes);
  if (whole.rank() != part.rank()) return false;
  const auto ranks = static_cast<std::int64_t>(peers_.ranks().size());
  for (std::size_t axis = 0; axis < whole.rank(); ++axis)
    if (part[axis] > whole[axis] || part[axis] * ranks < whole[axis]) return false;
  return true;
}

bool ShardedRuns::are_alike(std::uint32_t golden, std::uint32_t actual) const {
  const auto g = shapes_of(golden_, golden, model::Side::output),
             a = shapes_of(actual_, actual, model::Side::output);
  return !g.empty() && !a.empty() && is_part(g[0], a[0]);
}

void ShardedRuns::pair_by_paths(std::vector<OperatorPair>& pairs) const {
  using Places = std::vector<std::size_t>;  // in `pairs`
  std::map<PathKey, std::pair<Places, Places>> open;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].actual == kNone)
      open[key_of(golden_, pairs[i].golden)].first.push_back(i);
    else if (pairs[i].golden == kNone)
      open[key_of(actual_, pairs[i].actual)].second.push_back(i);
  }
  std::vector<bool> is_gone(pairs.size());
  const auto join = [&](std::size_t g, std::size_t a, PairedBy method) {
    pairs[g].actual = pairs[a].actual;
    pairs[g].paired_by = method;
    is_gone[a] = true;
  };
  for (auto& [key, places] : open) {
    auto& [of_golden, of_actual] = places;
    for (const auto& [distance, g, a] : find_equal(pairs, of_golden, of_actual))
      if (pairs[g].actual == kNone && !is_gone[a]) join(g, a, PairedBy::values);
    auto next = of_actual.begin();
    for (const std::size_t g : of_golden) {
      if (pairs[g].actual != kNone) continue;
      const auto a = std::find_if(next, of_actual.end(), [&](std::size_t i) {
        return !is_gone[i] && are_alike(pairs[g].golden, pairs[i].actual);
      });
      if (a == of_actual.end()) continue;
      join(g, *a, PairedBy::path);
      next = a + 1;
    }
  }
  std::size_t at = 0;
  std::erase_if(pairs, [&](const OperatorPair&) { return static_cast<bool>(is_gone[at++]); });
}

// Of operators that differ only in their results: those with equal ones, the nearest first.
std::vector<ShardedRuns::NearPair> ShardedRuns::find_equal(const std::vector<OperatorPair>& pairs,
                                                           const std::vector<std::size_t>& golden,
                                                           const std::vector<std::size_t>& actual) const {
  std::vector<NearPair> equal;
  if (golden.size() * actual.size() <= 1 || golden.size() * actual.size() > kMostTried) return equal;
  for (const std::size_t g : golden)
    for (const std::size_t a : actual) {
      if (!are_alike(pairs[g].golden, pairs[a].actual)) continue;
      const double distance = distance_of({.golden = pairs[g].golden, .actual = pairs[a].actual});
      if (distance <= kNear) equal.push_back({distance, g, a});
    }
  std::ranges::sort(equal);
  return equal;
}

// Of the first outputs.
double ShardedRuns::distance_of(const OperatorPair& pair) const {
  OperatorComparison op;
  op.golden = std::make_shared<const OperatorRun>(golden_[pair.golden]);
  op.actual = std::make_shared<const OperatorRun>(actual_[pair.actual]);
  const auto output_of = [](const OperatorRun& run) {
    const auto slot = std::ranges::find(run.slots, model::Side::output, &Slot::side);
    return slot == run.slots.end() ? nullptr : &*slot;
  };
  SlotComparison& slot = op.slots.emplace_back();
  slot.golden = output_of(*op.golden);
  slot.actual = output_of(*op.actual);
  if (slot.golden == nullptr || slot.actual == nullptr || slot.golden->file.empty() ||
      slot.actual->file.empty())
    return INFINITY;
  slot.dtype = slot.golden->dtype;
  add_ranks(op, pair);
  return shard_distance(slot);
}

// "addmm" against "mm", a reduction, and "add": the sum is the product's result.
void ShardedRuns::join_biases(std::vector<OperatorPair>& pairs) const {
  std::map<PathKey, std::size_t> sums;  // of the sharded side, without a partner
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::uint32_t index = is_golden_ ? pairs[i].golden : pairs[i].actual;
    const std::uint32_t other = is_golden_ ? pairs[i].actual : pairs[i].golden;
    if (index != kNone && other == kNone && kind_of(sharded().without_slots(index).type).name == "add")
      sums.emplace(key_of(sharded(), index), i);
  }
  std::vector<bool> is_gone(pairs.size());
  for (OperatorPair& pair : pairs) {
    if (pair.golden == kNone || pair.actual == kNone || pair.paired_by == PairedBy::name) continue;
    const std::uint32_t product = is_golden_ ? pair.golden : pair.actual;
    const OperatorRun run = sharded().without_slots(product);
    const std::string whole =
        (is_golden_ ? actual_ : golden_).without_slots(is_golden_ ? pair.actual : pair.golden).type;
    if (run.type != "mm" || whole != "addmm") continue;
    PathKey key = key_of(sharded(), product);
    std::get<3>(key) = "add";
    const auto sum = sums.find(key);
    if (sum == sums.end()) continue;
    (is_golden_ ? pair.golden : pair.actual) =
        is_golden_ ? pairs[sum->second].golden : pairs[sum->second].actual;
    (is_golden_ ? pair.golden_first : pair.actual_first) = product;
    is_gone[sum->second] = true;
    sums.erase(sum);
  }
  std::size_t at = 0;
  std::erase_if(pairs, [&](const OperatorPair&) { return static_cast<bool>(is_gone[at++]); });
}

void ShardedRuns::leave_out(Pairing& pairing) const {
  std::uint64_t collectives = 0, foreign_golden = 0, foreign_actual = 0;
  for (OperatorPair& pair : pairing.pairs) {
    if ((pair.golden != kNone && pair.actual != kNone) || pair.fusion != Fusion::none || pair.is_alone)
      continue;
    const bool is_golden = pair.golden != kNone;
    const OperatorRun run =
        is_golden ? golden_.without_slots(pair.golden) : actual_.without_slots(pair.actual);
    const OperatorKind kind = kind_of(run.type);
    if (is_collective(run.type)) {
      pair.fusion = Fusion::collective;
      ++collectives;
    } else if (kind.role == OperatorRole::moves || kind.name == "concat") {
      pair.fusion = Fusion::moves;
    } else if (kind.role == OperatorRole::makes) {
      pair.fusion = Fusion::makes;
    } else if (phase_of(run) != model::Phase::optimizer) {
      pair.fusion = Fusion::undivided;
      ++(is_golden ? foreign_golden : foreign_actual);
    }
  }
  if (collectives > 0)
    pairing.notes.push_back(counted(collectives, "collective") +
                            " of the first rank: left out, what they give is compared");
  if (foreign_golden + foreign_actual > 0)
    pairing.notes.push_back(counted(foreign_golden, "operator") + " of golden and " +
                            std::to_string(foreign_actual) +
                            " of actual compute what no operator of the other one computes: left out");
}

// The loss of a rank is that of its own part of the batch, and its gradients are that many times as large.
void ShardedRuns::find_scale(const std::vector<OperatorPair>& pairs) {
  for (const OperatorPair& pair : pairs) {
    if (pair.golden == kNone || pair.actual == kNone) continue;
    const Runs& single = is_golden_ ? actual_ : golden_;
    const std::uint32_t one = is_golden_ ? pair.actual : pair.golden;
    if (phase_of(single.without_slots(one)) != model::Phase::forward) continue;
    for (const Slot& slot : single.slots(one)) {
      if (slot.side != model::Side::output) continue;
      const auto whole = scalar_of(slot);
      if (!whole || *whole == 0) continue;
      std::vector<double> values;
      for (const std::uint32_t peer : peers_.of(is_golden_ ? pair.golden : pair.actual)) {
        if (peer == kNone) continue;
        for (const Slot& other : sharded().slots(peer))
          if (other.side == slot.side && other.index == slot.index)
            if (const auto value = scalar_of(other)) values.push_back(*value);
      }
      if (values.size() == peers_.ranks().size())
        scale_ = std::max(scale_, static_cast<double>(count_parts(values, *whole)));
    }
  }
}

Pairing ShardedRuns::pair(const TailsOfBoth& tails) {
  Pairing pairing = pair_operators(golden_, actual_, tails);
  std::erase_if(pairing.pairs, [&](const OperatorPair& pair) {
    const std::uint32_t index = is_golden_ ? pair.golden : pair.actual;
    return index != kNone && sharded().section_of(index).rank != peers_.ranks()[0];
  });
  find_scale(pairing.pairs);
  pair_by_paths(pairing.pairs);
  join_biases(pairing.pairs);
  const std::string ranks = std::to_string(peers_.ranks().size()) + " ranks";
  pairing.notes.insert(pairing.notes.begin(),
                       "golden has " + (is_golden_ ? ranks : "1 rank") + " and actual " +
                           (is_golden_ ? "1" : ranks) +
                           ": the tensors of all ranks together are compared with those of the one" +
                           (rules_ == nullptr && sharded().have_layouts()
                                ? ", in the layouts that the ranks recorded where they did"
                                : ""));
  if (scale_ > 1)
    pairing.notes.push_back("each rank's loss is the mean of 1 of " + format_g(scale_) +
                            " parts of the batch: gradients may be " + format_g(scale_) +
                            " times as large until they are averaged");
  leave_out(pairing);
  return pairing;
}

std::vector<SlotPair> ShardedRuns::pair_slots(const OperatorRun& golden, const OperatorRun& actual) const {
  std::vector<SlotPair> pairs;
  for (const model::Side side : {model::Side::input, model::Side::output}) {
    std::vector<const Slot*> open;
    for (const Slot& slot : actual.slots)
      if (slot.side == side) open.push_back(&slot);
    for (const Slot& slot : golden.slots) {
      if (slot.side != side) continue;
      const auto found = std::ranges::find_if(open, [&](const Slot* other) {
        return slot.shape && other->shape && is_part(*slot.shape, *other->shape);
      });
      pairs.push_back({&slot, found == open.end() ? nullptr : *found});
      if (found != open.end()) open.erase(found);
    }
    for (const Slot* slot : open) pairs.push_back({nullptr, slot});
  }
  return pairs;
}

// Empty where a rank says nothing.
std::vector<dump::CallLayout> ShardedRuns::read_layouts(const std::vector<std::uint32_t>& executions) const {
  std::vector<dump::CallLayout> layouts;
  for (const std::uint32_t index : executions)
    layouts.push_back(index == kNone ? dump::CallLayout()
                                     : sharded().layout_of(index).value_or(dump::CallLayout()));
  return layouts;
}

void ShardedRuns::add_ranks(OperatorComparison& op, const OperatorPair& pair) const {
  if (op.golden == nullptr || op.actual == nullptr) return;
  const std::vector<std::uint32_t> lasts = peers_.of(is_golden_ ? pair.golden : pair.actual);
  const std::uint32_t first = is_golden_ ? pair.golden_first : pair.actual_first;
  const std::vector<std::uint32_t> firsts = first == kNone ? lasts : peers_.of(first);
  for (std::size_t i = 0; i < lasts.size(); ++i)
    op.shards.push_back(i == 0 ? (is_golden_ ? op.golden : op.actual)
                        : lasts[i] == kNone
                            ? nullptr
                            : std::make_shared<const OperatorRun>(join_runs(sharded(), firsts[i], lasts[i])));
  const bool is_everywhere = std::ranges::all_of(op.shards, [](const auto& run) { return run != nullptr; });
  if (!is_everywhere && kind_of(op.golden->type).role != OperatorRole::computes)
    op.left_out = "not all ranks run it";
  const model::Phase phase = phase_of(is_golden_ ? *op.actual : *op.golden);
  const OperatorRun& own = *op.shards[0];
  const std::vector<dump::CallLayout> layouts = read_layouts(lasts);
  for (SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr) continue;
    const Slot& mine = is_golden_ ? *slot.golden : *slot.actual;
    const auto place = static_cast<std::size_t>(&mine - own.slots.data());
    ShardedSlot sharded{.is_golden = is_golden_, .ranks = peers_.ranks()};
    for (const auto& run : op.shards) {
      const bool has_it = run != nullptr && place < run->slots.size() &&
                          run->slots[place].side == mine.side && run->slots[place].index == mine.index;
      sharded.slots.push_back(has_it ? &run->slots[place] : nullptr);
    }
    const Slot& whole = is_golden_ ? *slot.actual : *slot.golden;
    const bool is_scalar = whole.shape && model::element_count(*whole.shape) == 1;
    sharded.may_sum = phase != model::Phase::optimizer;
    sharded.scale = phase == model::Phase::forward && !is_scalar ? 1 : scale_;
    if (rules_ != nullptr) sharded.known = rules_->find(operator_name(own), mine);
    sharded.is_declared = !sharded.known.placements.empty();
    // An operator that stands for two has the outputs of the second.
    if (rules_ == nullptr && (first == kNone || mine.side == model::Side::output))
      if (auto recorded = find_recorded_layout(layouts, slot_name(mine))) {
        sharded.known = std::move(recorded->known);
        sharded.places = std::move(recorded->places);
      }
    slot.sharded = std::make_shared<const ShardedSlot>(std::move(sharded));
  }
}

}  // namespace opdump::compare
