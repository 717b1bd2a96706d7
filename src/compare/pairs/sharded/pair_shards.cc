#include "compare/pairs/sharded/pair_shards.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/measure/sharded/measure_shards.h"
#include "compare/measure/sharded/shard_layout.h"
#include "compare/measure/statistics.h"
#include "compare/names.h"
#include "compare/pairs/across/pair_across.h"
#include "compare/pairs/sharded/recorded_layout.h"
#include "math/sum.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

using dump::OperatorRun;
using dump::Runs;
using dump::Slot;

constexpr std::uint32_t kNone = OperatorPair::kNone;
constexpr double kClose = 1e-5;            // losses
constexpr double kNear = 1e-3;             // results of the same operator
constexpr std::size_t kMostTried = 1024;   // pairs of operators of one kind in one module
constexpr std::size_t kMostCompared = 64;  // pairs of operators that tell which ranks stand together

// What operators of both runs have in common, whatever classes of modules they are in.
struct PathKey {
  std::size_t group = 0;
  std::int64_t step = 0;
  model::Phase phase = model::Phase::forward;
  std::string path, kind;
  auto operator<=>(const PathKey&) const = default;
};
PathKey key_of(const Runs& runs, std::uint32_t index, std::size_t group) {
  const OperatorRun run = runs.without_slots(index);
  return {group, runs.section_of(index).step, phase_of(run), module_path(operator_name(run)),
          kind_of(run.type).name};
}

std::vector<model::Shape> shapes_of(const Runs& runs, std::uint32_t index, model::Side side) {
  std::vector<model::Shape> shapes;
  for (const Slot& slot : runs.slots(index))
    if (slot.side == side) shapes.push_back(slot.shape.value_or(model::Shape{-1}));
  return shapes;
}

std::optional<double> scalar_of(const Slot& slot) {
  if (!slot.shape || model::element_count(*slot.shape) != 1 || !model::is_floating(slot.dtype))
    return std::nullopt;
  if (slot.file.empty()) return column_number(slot.statistics.columns(), "Avg Value");
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

// Whether an operator of the first rank gives a tensor of another shape there.
bool have_other_shapes(const Runs& a, const Runs& b) {
  const auto first_output = [](const Runs& runs, std::uint32_t index) {
    const auto shapes = shapes_of(runs, index, model::Side::output);
    return shapes.empty() ? model::Shape() : shapes[0];
  };
  std::map<std::pair<std::int64_t, std::string>, model::Shape> known;  // by step and name
  for (std::uint32_t i = 0; i < a.size() && a.section_of(i).rank == a.section_of(0).rank; ++i)
    known.try_emplace({a.section_of(i).step, a.without_slots(i).name}, first_output(a, i));
  for (std::uint32_t i = 0; i < b.size() && b.section_of(i).rank == b.section_of(0).rank; ++i)
    if (const auto same = known.find({b.section_of(i).step, b.without_slots(i).name});
        same != known.end() && !(same->second == first_output(b, i)))
      return true;
  return false;
}

}  // namespace

ShardedRuns::ShardedRuns(const Runs& golden, const Runs& actual, bool is_golden, std::size_t few)
    : golden_(golden),
      actual_(actual),
      is_golden_(is_golden),
      peers_(is_golden ? golden : actual),
      all_groups_(find_rank_groups(peers_.ranks().size(), few)),
      groups_(all_groups_.at(0)) {}

std::optional<ShardedRuns> ShardedRuns::find(const Runs& golden, const Runs& actual) {
  const auto ranks_of = [](const Runs& runs) {
    std::set<std::uint32_t> ranks;
    for (std::uint32_t i = 0; i < runs.section_count(); ++i) ranks.insert(runs.section(i).rank);
    return ranks;
  };
  const std::set<std::uint32_t> g = ranks_of(golden), a = ranks_of(actual);
  const bool is_golden = g.size() > a.size();
  const std::set<std::uint32_t>&few = is_golden ? a : g, &many = is_golden ? g : a;
  if (few.empty() || few.size() == many.size() || many.size() % few.size() != 0 ||
      !std::equal(few.begin(), few.end(), many.begin()))
    return std::nullopt;
  if (few.size() > 1 && !have_other_shapes(golden, actual)) return std::nullopt;
  return ShardedRuns(golden, actual, is_golden, few.size());
}

std::size_t ShardedRuns::place_of(std::uint32_t rank) const {
  const auto& ranks = peers_.ranks();
  return static_cast<std::size_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
}

// That an execution of either run belongs to.
std::size_t ShardedRuns::group_of(const Runs& runs, std::uint32_t index) const {
  const std::size_t place = place_of(runs.section_of(index).rank);
  if (&runs != &sharded()) return place;
  const auto found = std::ranges::find_if(
      groups_, [&](const auto& group) { return std::ranges::find(group, place) != group.end(); });
  return static_cast<std::size_t>(found - groups_.begin());
}

std::vector<std::uint32_t> ShardedRuns::peers_of(std::uint32_t index, std::size_t group) const {
  const std::vector<std::uint32_t> all = peers_.of(index);
  std::vector<std::uint32_t> peers;
  if (!all.empty())
    for (const std::size_t place : groups_[group]) peers.push_back(all[place]);
  return peers;
}

// Operators are paired by the numbers of ranks: the first of the group takes the place of a rank of its
// number. False if there is nothing left of the pair.
bool ShardedRuns::stand_in(OperatorPair& pair) const {
  std::uint32_t& index = is_golden_ ? pair.golden : pair.actual;
  if (index == kNone) return true;
  const std::size_t place = place_of(sharded().section_of(index).rank);
  if (place >= groups_.size()) return false;
  const std::vector<std::uint32_t> peers = peers_of(index, place);
  index = peers.empty() ? kNone : peers[0];
  return pair.golden != kNone || pair.actual != kNone;
}

bool ShardedRuns::have_equal_shapes(const OperatorPair& pair) const {
  return shapes_of(golden_, pair.golden, model::Side::output) ==
         shapes_of(actual_, pair.actual, model::Side::output);
}

// What the ranks do at the same time together: a fault on one of them comes before what others inherit from
// it.
void ShardedRuns::interleave_ranks(std::vector<OperatorPair>& pairs) const {
  const Runs& few = is_golden_ ? actual_ : golden_;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> counts;  // of a rank's operators in a step
  std::map<std::pair<std::int64_t, std::size_t>, std::vector<OperatorPair>> order;
  for (const OperatorPair& pair : pairs) {
    const std::uint32_t one = is_golden_ ? pair.actual : pair.golden;
    const Runs& runs = one != kNone ? few : sharded();
    const std::uint32_t index = one != kNone ? one : sharded_of(pair);
    const std::int64_t step = runs.section_of(index).step;
    std::size_t& count = counts[{group_of(runs, index), step}];
    count += one != kNone;  // what only the other run has stays behind the one before it
    order[{step, count}].push_back(pair);
  }
  pairs.clear();
  for (const auto& [place, together] : order) pairs.insert(pairs.end(), together.begin(), together.end());
}

// The groups in which most of some operators give what they give in the other run.
void ShardedRuns::choose_groups(const std::vector<OperatorPair>& pairs) {
  if (all_groups_.size() == 1) return;
  std::vector<const OperatorPair*> telling;  // of the others all ranks may have the same
  for (const OperatorPair& pair : pairs)
    if (pair.golden != kNone && pair.actual != kNone && !have_equal_shapes(pair)) telling.push_back(&pair);
  const std::size_t step = telling.size() / kMostCompared + 1;
  std::size_t most = 0;
  RankGroups best = groups_;
  for (const RankGroups& groups : all_groups_) {
    groups_ = groups;
    std::size_t equal = 0;
    for (std::size_t i = 0; i < telling.size(); i += step) {
      OperatorPair pair = *telling[i];
      equal += stand_in(pair) && sharded_of(pair) != kNone && distance_of(pair) <= kNear;
    }
    if (equal <= most) continue;
    most = equal;
    best = groups;
  }
  groups_ = std::move(best);
}

std::string ShardedRuns::describe() const {
  const std::string many = counted(peers_.ranks().size(), "rank"), few = counted(groups_.size(), "rank");
  std::string text = "golden has " + (is_golden_ ? many : few) + " and actual " + (is_golden_ ? few : many);
  if (has_whole()) {
    text += ": the tensors of all ranks together are compared with those of the one";
    const bool is_recorded = rules_ == nullptr && sharded().have_layouts();
    return text + (is_recorded ? ", in the layouts that the ranks recorded where they did" : "");
  }
  text += ": ";
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    std::set<std::int64_t> ranks;
    for (const std::size_t place : groups_[i]) ranks.insert(peers_.ranks()[place]);
    text += (i == 0 ? "" : ", ") + ("ranks " + format_ranges(ranks)) + " stand for rank " +
            std::to_string(peers_.ranks()[i]);
  }
  return text;
}

// Whether one is a shard of the other, or all of it.
bool ShardedRuns::is_part(const model::Shape& golden, const model::Shape& actual) const {
  const std::size_t axes = std::min(golden.rank(), actual.rank());
  const model::Shape whole = fold_axes(is_golden_ ? actual : golden, axes);
  const model::Shape part = fold_axes(is_golden_ ? golden : actual, axes);
  if (whole.rank() != part.rank()) return false;
  const auto ranks = static_cast<std::int64_t>(groups_[0].size());
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
      open[key_of(golden_, pairs[i].golden, group_of(golden_, pairs[i].golden))].first.push_back(i);
    else if (pairs[i].golden == kNone)
      open[key_of(actual_, pairs[i].actual, group_of(actual_, pairs[i].actual))].second.push_back(i);
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

// Finds the operators that are alike and have equal results, the nearest first.
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

// Returns the distance of the first outputs.
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
      sums.emplace(key_of(sharded(), index, group_of(sharded(), index)), i);
  }
  std::vector<bool> is_gone(pairs.size());
  for (OperatorPair& pair : pairs) {
    if (pair.golden == kNone || pair.actual == kNone || pair.paired_by == PairedBy::name) continue;
    const std::uint32_t product = is_golden_ ? pair.golden : pair.actual;
    const OperatorRun run = sharded().without_slots(product);
    const std::string whole =
        (is_golden_ ? actual_ : golden_).without_slots(is_golden_ ? pair.actual : pair.golden).type;
    if (run.type != "mm" || whole != "addmm") continue;
    PathKey key = key_of(sharded(), product, group_of(sharded(), product));
    key.kind = "add";
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

// Whether operators that are paired depend on the number of ranks: what puts gathered parts together, copies
// of buffers, what a program makes, and outside of modules integers, which may be numbers of ranks.
bool ShardedRuns::is_of_ranks(const OperatorPair& pair, const OperatorKind& kind) const {
  if (has_whole()) return false;
  if (kind.name == "concat" || kind.role == OperatorRole::makes) return true;
  if (kind.role == OperatorRole::moves && !have_equal_shapes(pair)) return true;
  const OperatorRun run = golden_.without_slots(pair.golden);
  if (phase_of(run) != model::Phase::forward || !module_path(operator_name(run)).empty()) return false;
  for (const Slot& slot : golden_.slots(pair.golden))
    if (slot.side == model::Side::output && model::is_floating(slot.dtype)) return false;
  return true;
}

void ShardedRuns::leave_out(Pairing& pairing) const {
  std::uint64_t collectives = 0, foreign_golden = 0, foreign_actual = 0;
  for (OperatorPair& pair : pairing.pairs) {
    if (pair.fusion != Fusion::none || pair.is_alone) continue;
    const bool is_golden = pair.golden != kNone;
    const OperatorRun run =
        is_golden ? golden_.without_slots(pair.golden) : actual_.without_slots(pair.actual);
    const OperatorKind kind = kind_of(run.type);
    const bool has_partner = pair.golden != kNone && pair.actual != kNone;
    if (has_partner && !model::has_trait(run.type, model::Trait::collective) && !is_of_ranks(pair, kind))
      continue;
    if (model::has_trait(run.type, model::Trait::collective)) {
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
    // A loss that only one of the programs computes in a module is where both backward passes begin.
    const OperatorRun run = single.without_slots(one);
    const bool is_forward = phase_of(run) == model::Phase::forward;
    if (!is_forward && kind_of(run.type).role != OperatorRole::makes) continue;
    for (const Slot& slot : single.slots(one)) {
      if (slot.side != (is_forward ? model::Side::output : model::Side::input)) continue;
      const auto whole = scalar_of(slot);
      if (!whole || *whole == 0) continue;
      std::vector<double> values;
      const std::size_t group = group_of(sharded(), sharded_of(pair));
      for (const std::uint32_t peer : peers_of(sharded_of(pair), group)) {
        if (peer == kNone) continue;
        for (const Slot& other : sharded().slots(peer))
          if (other.side == slot.side && other.index == slot.index)
            if (const auto value = scalar_of(other)) values.push_back(*value);
      }
      if (values.size() == groups_[group].size())
        scale_ = std::max(scale_, static_cast<double>(count_parts(values, *whole)));
    }
  }
}

Pairing ShardedRuns::pair(const TailsOfBoth& tails) {
  Pairing pairing = pair_operators(golden_, actual_, tails, true);
  choose_groups(pairing.pairs);
  std::erase_if(pairing.pairs, [&](OperatorPair& pair) { return !stand_in(pair); });
  find_scale(pairing.pairs);
  pair_by_paths(pairing.pairs);
  join_biases(pairing.pairs);
  pairing.notes.insert(pairing.notes.begin(), describe());
  if (scale_ > 1)
    pairing.notes.push_back("each rank's loss is the mean of 1 of " + format_g(scale_) +
                            " parts of the batch: gradients may be " + format_g(scale_) +
                            " times as large until they are averaged");
  leave_out(pairing);
  if (!has_whole()) interleave_ranks(pairing.pairs);
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

// Reads the operator on all ranks; null where one has none.
ShardedRuns::RunsOfRanks ShardedRuns::read_ranks(const OperatorComparison& op,
                                                 const OperatorPair& pair) const {
  const std::uint32_t last = sharded_of(pair), first = is_golden_ ? pair.golden_first : pair.actual_first;
  const std::vector<std::uint32_t> lasts = peers_.of(last);
  const std::vector<std::uint32_t> firsts = first == kNone ? lasts : peers_.of(first);
  RunsOfRanks runs;
  for (std::size_t i = 0; i < lasts.size(); ++i)
    runs.push_back(lasts[i] == last ? (is_golden_ ? op.golden : op.actual)
                   : lasts[i] == kNone
                       ? nullptr
                       : std::make_shared<const OperatorRun>(join_runs(sharded(), firsts[i], lasts[i])));
  return runs;
}

// Gives it the ranks at some places, with what is there of `mine`, a slot of `own`.
void ShardedRuns::fill(ShardedSlot& sharded, const std::vector<std::size_t>& places, const RunsOfRanks& runs,
                       const Slot& mine, const OperatorRun& own) const {
  const auto at = static_cast<std::size_t>(&mine - own.slots.data());
  for (const std::size_t place : places) {
    const auto& run = runs[place];
    const bool has_it = run != nullptr && at < run->slots.size() && run->slots[at].side == mine.side &&
                        run->slots[at].index == mine.index;
    sharded.ranks.push_back(peers_.ranks()[place]);
    sharded.slots.push_back(has_it ? &run->slots[at] : nullptr);
  }
}

void ShardedRuns::add_ranks(OperatorComparison& op, const OperatorPair& pair) const {
  if (op.golden == nullptr || op.actual == nullptr) return;
  const std::uint32_t first = is_golden_ ? pair.golden_first : pair.actual_first;
  const std::size_t group = group_of(sharded(), sharded_of(pair));
  const RunsOfRanks runs = read_ranks(op, pair);
  for (const std::size_t place : groups_[group]) op.shards.push_back(runs[place]);
  const bool is_everywhere = std::ranges::all_of(op.shards, [](const auto& run) { return run != nullptr; });
  if (!is_everywhere && kind_of(op.golden->type).role != OperatorRole::computes)
    op.left_out = "not all ranks run it";
  const model::Phase phase = phase_of(is_golden_ ? *op.actual : *op.golden);
  const OperatorRun& own = *op.shards[0];
  const std::vector<dump::CallLayout> layouts = read_layouts(peers_of(sharded_of(pair), group));
  for (SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr) continue;
    const Slot& mine = is_golden_ ? *slot.golden : *slot.actual;
    ShardedSlot sharded{.is_golden = is_golden_, .all_ranks = peers_.ranks().size()};
    const Slot& whole = is_golden_ ? *slot.actual : *slot.golden;
    const bool is_scalar = whole.shape && model::element_count(*whole.shape) == 1;
    sharded.may_sum = phase != model::Phase::optimizer;
    // Between the passes a program averages gradients itself.
    const bool is_between = !has_whole() && module_path(operator_name(own)).empty();
    sharded.scale = phase == model::Phase::forward && !is_scalar && !is_between ? 1 : scale_;
    if (rules_ != nullptr) sharded.known = rules_->find(operator_name(own), mine);
    sharded.is_declared = !sharded.known.placements.empty();
    // An operator that stands for two has the outputs of the second.
    if (rules_ == nullptr && (first == kNone || mine.side == model::Side::output))
      if (auto recorded = find_recorded_layout(layouts, slot_name(mine))) {
        sharded.known = std::move(recorded->known);
        sharded.places = std::move(recorded->places);
      }
    ShardedSlot filled = sharded;
    fill(filled, groups_[group], runs, mine, own);
    for (const RankGroups& others : all_groups_)
      if (others != groups_) fill(filled.others.emplace_back(sharded), others[group], runs, mine, own);
    if (!filled.others.empty()) filled.runs = runs;
    slot.sharded = std::make_shared<const ShardedSlot>(std::move(filled));
  }
}

}  // namespace opdump::compare
