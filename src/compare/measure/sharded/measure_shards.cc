#include "compare/measure/sharded/measure_shards.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/file/scratch.h"
#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/measure/measure_pair.h"
#include "compare/measure/sharded/shard_statistics.h"
#include "compare/names.h"
#include "math/sum.h"

namespace opdump::compare {
namespace {

using dump::StoredTensor;
using model::TensorView;

constexpr std::uint64_t kSample = 4096;  // elements of a tensor on which layouts are tried
constexpr double kSame = 1e-6;           // relative L2 distance at which no other layout is tried

// The tensors of a slot, mapped.
struct Tensors {
  std::vector<StoredTensor> stored;
  TensorView whole;
  std::vector<TensorView> shards;
};

// A reshaped tensor has its first axes apart: (4,8,32) against (32,32).
void fold_axes_of(Tensors& tensors) {
  const std::size_t axes = std::min(tensors.whole.shape.rank(), tensors.shards[0].shape.rank());
  const auto fold = [&](TensorView& view) {
    if (view.shape.rank() > axes && axes > 0 && view.is_contiguous())
      view = TensorView::row_major(view.dtype, fold_axes(view.shape, axes), view.data);
  };
  fold(tensors.whole);
  std::ranges::for_each(tensors.shards, fold);
}

Result<Tensors> read_tensors(const SlotComparison& slot) {
  const ShardedSlot& sharded = *slot.sharded;
  Tensors tensors;
  OPDUMP_TRY(StoredTensor whole, StoredTensor::read(whole_of(slot), dump::Alignment::any));
  OPDUMP_CHECK_OK(whole.straighten());
  tensors.whole = whole.view();
  tensors.stored.push_back(std::move(whole));
  for (std::size_t place = 0; place < sharded.slots.size(); ++place) {
    const std::size_t i = sharded.at_place(place);
    const std::string rank = "rank " + std::to_string(sharded.ranks[i]);
    if (sharded.slots[i] == nullptr) return Error(Code::not_found, rank + " has no such tensor");
    if (sharded.slots[i]->file.empty())
      return Error(
          Code::not_found,
          rank + " has no elements" +
              (sharded.slots[i]->undumped_reason.empty() ? "" : ": " + sharded.slots[i]->undumped_reason));
    auto shard = StoredTensor::read(*sharded.slots[i], dump::Alignment::any);
    if (!shard) return shard.take_error().within(rank);
    OPDUMP_CHECK_OK(shard->straighten());
    tensors.shards.push_back(shard->view());
    tensors.stored.push_back(std::move(*shard));
  }
  fold_axes_of(tensors);
  return tensors;
}

// What is compared at once: the tensor of a rank, or the terms of a sum.
struct ShardUnit {
  std::vector<std::size_t> members;  // places in the mesh
  ShardViews views;                  // of the first
  std::vector<TensorView> terms;
};

// Returns nothing if the layout does not fit the shapes.
std::optional<std::vector<ShardUnit>> units_of(const Tensors& tensors, const ShardLayout& layout,
                                               std::uint64_t most) {
  std::vector<ShardUnit> units;
  for (std::size_t rank = 0; rank < tensors.shards.size(); ++rank) {
    std::vector<std::size_t> members = layout.terms_of(rank);
    if (members[0] != rank) continue;
    ShardUnit unit{std::move(members), {}, {}};
    for (const std::size_t member : unit.members) {
      auto views = view_shard(tensors.whole, tensors.shards[member], layout, member);
      if (!views) return std::nullopt;
      if (most > 0) *views = thin_out(*views, most);
      unit.terms.push_back(views->shard);
      if (member == rank) unit.views = *views;
    }
    units.push_back(std::move(unit));
  }
  return units;
}

// A unit's elements as one tensor.
class Joined {
 public:
  static Result<Joined> make(const ShardUnit& unit, double factor) {
    Joined joined;
    joined.view_ = unit.views.shard;
    if (unit.terms.size() == 1 && factor == 1) return joined;
    const std::uint64_t count = unit.views.shard.element_count();
    OPDUMP_TRY(joined.sum_, Scratch::make(count * sizeof(double)));
    math::sum_tensors(unit.terms, factor, {reinterpret_cast<double*>(joined.sum_.data()), count});
    joined.view_ = TensorView::row_major(model::DType::float64, unit.views.shard.shape, joined.sum_.data());
    return joined;
  }
  const TensorView& view() const { return view_; }

 private:
  Scratch sum_;
  TensorView view_;
};

// How well a layout fits: the fewer ranks are wrong, the better.
struct Fit {
  double wrong = 0, distance = 0;  // part of the units; of the worst
  auto operator<=>(const Fit&) const = default;
};

// One way to see the shards.
struct Candidate {
  const ShardLayout* layout = nullptr;
  double factor = 1;
  Fit fit = {};
};

class ShardMeasure {
 public:
  ShardMeasure(SlotComparison& slot, const Tensors& tensors, const CompareOptions& options, unsigned threads)
      : slot_(slot), sharded_(*slot.sharded), tensors_(tensors), options_(options), threads_(threads) {}

  Result<> run() {
    OPDUMP_TRY(const Candidate best, find_best());
    if (best.layout == nullptr)
      return Error(Code::unsupported, "shape " + model::format_shape(tensors_.whole.shape) + " against " +
                                          model::format_shape(tensors_.shards[0].shape) + " on each of " +
                                          std::to_string(tensors_.shards.size()) + " ranks");
    OPDUMP_CHECK_OK(measure(best));
    const bool has_tried_sums = sharded_.may_sum && sharded_.known.placements.empty();
    if (!has_tried_sums && !slot_.is_sum && !slot_.wrong_ranks.empty()) OPDUMP_CHECK_OK(tell_sums());
    return ok();
  }

  Result<double> distance() {
    OPDUMP_TRY(const Candidate best, find_best());
    return best.layout == nullptr ? INFINITY : best.fit.distance;
  }

 private:
  Result<math::Metrics> compare(const TensorView& whole, const TensorView& shard, unsigned threads) const {
    return sharded_.is_golden ? measure_pair(whole, shard, tensor_dtypes(), options_, threads)
                              : measure_pair(shard, whole, tensor_dtypes(), options_, threads);
  }
  model::DType tensor_dtypes() const {
    return coarser_dtype(slot_.dtype,
                         slot_.actual->dtype == model::DType::undefined ? slot_.dtype : slot_.actual->dtype);
  }

  // Returns nothing if the layout does not fit the shapes.
  Result<std::optional<Fit>> fit(const Candidate& candidate) const {
    const auto units = units_of(tensors_, *candidate.layout, kSample);
    if (!units) return std::optional<Fit>();
    Fit fit;
    const double close = std::max(1e-5, 4 * default_tolerance(tensor_dtypes()).rtol);
    for (const ShardUnit& unit : *units) {
      OPDUMP_TRY(const Joined joined, Joined::make(unit, candidate.factor));
      OPDUMP_TRY(const math::Metrics metrics, compare(unit.views.whole, joined.view(), 1));
      const bool is_wrong = !(metrics.relative_l2 <= close) && metrics.mismatch_count > 0;
      fit.wrong += is_wrong ? 1.0 / static_cast<double>(units->size()) : 0;
      fit.distance = std::max(fit.distance, std::isnan(metrics.relative_l2) ? INFINITY : metrics.relative_l2);
    }
    return std::optional(fit);
  }

  // Looks in what is known, or if that fits no part of the whole, in any layout.
  Result<Candidate> find_best() {
    const bool is_folded = tensors_.shards[0].shape.rank() != shard_rank();
    if (sharded_.is_declared || !is_folded) {
      OPDUMP_TRY(const Candidate best, find_best(sharded_.known, sharded_.may_sum));
      if (best.layout != nullptr || sharded_.is_declared) return best;
    }
    return find_best({.mesh = sharded_.known.mesh}, sharded_.may_sum);
  }

  // Returns the rank of the shape that the layout is about, before its axes are folded.
  std::size_t shard_rank() const {
    const dump::Slot& slot = *sharded_.slots[sharded_.at_place(0)];
    return slot.shape ? slot.shape->rank() : tensors_.shards[0].shape.rank();
  }

  Result<Candidate> find_best(const KnownLayout& known, bool may_sum) {
    const model::Shape &whole = tensors_.whole.shape, &first = tensors_.shards[0].shape;
    layouts_ = find_shard_layouts(whole, first, tensors_.shards.size(), known,
                                  may_sum && model::is_floating(slot_.dtype));
    Candidate best;
    for (const ShardLayout& layout : layouts_)
      for (const double scale : {1.0, may_sum ? sharded_.scale : 1.0}) {
        Candidate candidate{&layout, 1 / scale, {}};
        OPDUMP_TRY(const std::optional<Fit> one, fit(candidate));
        if (!one || (best.layout != nullptr && !(*one < best.fit))) continue;
        candidate.fit = *one;
        best = candidate;
        if (one->distance <= kSame) return best;
      }
    return best;
  }

  // What a program forgot to reduce.
  Result<> tell_sums() {
    OPDUMP_TRY(const Candidate best, find_best({.mesh = sharded_.known.mesh}, true));
    if (best.layout == nullptr || best.fit.wrong > 0 || !best.layout->has_sums()) return ok();
    if (!slot_.reason.empty()) slot_.reason += "; ";
    slot_.reason += best.factor == 1 ? "their sum is right: a reduction is missing"
                                     : "their mean is right: a reduction is missing";
    return ok();
  }

  Result<> measure(const Candidate& best) {
    const auto units = units_of(tensors_, *best.layout, 0);
    std::set<std::int64_t> wrong;
    bool is_first = true;
    for (const ShardUnit& unit : *units) {
      OPDUMP_TRY(const Joined joined, Joined::make(unit, best.factor));
      OPDUMP_TRY(const math::Metrics metrics, compare(unit.views.whole, joined.view(), threads_));
      slot_.bytes += unit.views.whole.byte_count();
      if (metrics.mismatch_count > 0)
        for (const std::size_t member : unit.members) wrong.insert(sharded_.ranks[sharded_.at_place(member)]);
      const auto badness = [](const math::Metrics& m) {
        return std::tuple(m.mismatch_count > 0, m.nan_mismatch_count > 0, m.relative_l2);
      };
      if (!is_first && badness(metrics) <= badness(*slot_.metrics)) continue;
      is_first = false;
      slot_.metrics = metrics;
      slot_.shape = tensors_.shards[unit.members[0]].shape;
    }
    slot_.wrong_ranks.assign(wrong.begin(), wrong.end());
    OPDUMP_TRY(slot_.counts_anew, wrong.empty() ? Result<bool>(false) : counts_anew(*units));
    slot_.is_sum = best.layout->has_sums();
    slot_.is_cut_in_rows = std::ranges::any_of(best.layout->placements, [](const Placement& one) {
      return one.kind == Placement::Kind::shard && one.axis == 0;
    });
    describe(best);
    return ok();
  }

  // Whether each rank's numbers are those of its part of the whole, less one number, as of places that a rank
  // counts from the beginning of its part.
  static Result<bool> counts_anew(std::span<const ShardUnit> units) {
    constexpr std::uint64_t kMost = 1 << 22;
    for (const ShardUnit& unit : units) {
      const TensorView &whole = unit.views.whole, &shard = unit.views.shard;
      const std::uint64_t count = shard.element_count();
      const model::DTypeKind kind = model::dtype_info(shard.dtype).kind;
      if ((kind != model::DTypeKind::signed_integer && kind != model::DTypeKind::unsigned_integer) ||
          unit.terms.size() != 1 || count == 0 || count > kMost)
        return false;
      OPDUMP_TRY(Scratch memory, Scratch::make(2 * count * sizeof(double)));
      const std::span<double> numbers(reinterpret_cast<double*>(memory.data()), 2 * count);
      math::sum_tensors({&whole, 1}, 1, numbers.first(count));
      math::sum_tensors({&shard, 1}, 1, numbers.last(count));
      for (std::uint64_t i = 0; i < count; ++i)
        if (numbers[i] - numbers[count + i] != numbers[0] - numbers[count]) return false;
    }
    return true;
  }

  void describe(const Candidate& best) {
    std::string text = best.layout->describe();
    if (best.factor != 1) {
      const auto scale = static_cast<std::int64_t>(std::lround(1 / best.factor));
      text += (text.empty() ? "" : ", ") + std::to_string(scale) + " times as large";
    }
    slot_.reason = std::move(text);
  }

  SlotComparison& slot_;
  const ShardedSlot& sharded_;
  const Tensors& tensors_;
  const CompareOptions& options_;
  unsigned threads_;
  std::vector<ShardLayout> layouts_;
};

}  // namespace

namespace {

void measure_group(SlotComparison& slot, const CompareOptions& options, unsigned threads) {
  const auto settle = [&](Verdict verdict, std::string reason) {
    slot.bytes = 0;
    slot.metrics.reset();
    slot.verdict = verdict;
    slot.reason = std::move(reason);
  };
  const bool lacks_elements =
      whole_of(slot).file.empty() || std::ranges::any_of(slot.sharded->slots, [](const dump::Slot* shard) {
        return shard != nullptr && shard->file.empty() && !shard->statistics.empty();
      });
  if (lacks_elements) return measure_shard_statistics(slot, options);
  const auto tensors = read_tensors(slot);
  if (!tensors) return settle(Verdict::unreadable, tensors.error().message());
  if (slot.dtype == model::DType::undefined)
    slot.dtype = (slot.sharded->is_golden ? tensors->shards[0] : tensors->whole).dtype;
  if (auto done = ShardMeasure(slot, *tensors, options, threads).run(); !done)
    return settle(Verdict::not_comparable, done.error().message());
  judge_metrics(slot, *slot.metrics);
}

}  // namespace

void measure_shards(SlotComparison& slot, const CompareOptions& options, unsigned threads) {
  const SlotComparison before = slot;
  measure_group(slot, options, threads);
  for (const ShardedSlot& other : before.sharded->others) {
    if (slot.verdict == Verdict::match) return;
    SlotComparison there = before;
    there.sharded = std::shared_ptr<const ShardedSlot>(before.sharded, &other);
    measure_group(there, options, threads);
    if (there.verdict != Verdict::match) continue;
    slot = std::move(there);
    slot.sharded = before.sharded;
  }
}

double shard_distance(const SlotComparison& slot) {
  const auto tensors = read_tensors(slot);
  if (!tensors) return INFINITY;
  SlotComparison copy = slot;
  const auto distance = ShardMeasure(copy, *tensors, {}, 1).distance();
  return distance ? *distance : INFINITY;
}

bool looks_up_own_rows(const OperatorComparison& op) {
  const std::string_view type = op.run().type;
  if (op.shards.empty() || type.find("embedding") == std::string_view::npos) return false;
  const model::Side side =
      type.find("backward") == std::string_view::npos ? model::Side::input : model::Side::output;
  return std::ranges::any_of(op.slots, [&](const SlotComparison& slot) {
    return slot.is_cut_in_rows && side_of(slot) == side && model::is_floating(slot.dtype);
  });
}

void name_ranks(OperatorComparison& op) {
  std::set<std::uint32_t> of_inputs;
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::input && !slot.is_sum)
      of_inputs.insert(slot.wrong_ranks.begin(), slot.wrong_ranks.end());
  for (SlotComparison& slot : op.slots) {
    if (slot.wrong_ranks.empty()) continue;
    if (slot.is_sum && !of_inputs.empty()) slot.wrong_ranks.assign(of_inputs.begin(), of_inputs.end());
    const std::set<std::int64_t> ranks(slot.wrong_ranks.begin(), slot.wrong_ranks.end());
    slot.reason = inflect(ranks.size(), "rank ", "ranks ") + format_ranges(ranks) + " of " +
                  std::to_string(slot.sharded->all_ranks) + (slot.reason.empty() ? "" : "; " + slot.reason);
  }
}

std::string explain_sums(const OperatorComparison& op) {
  if (op.verdict != Verdict::own_error) return {};
  const SlotComparison* sum = nullptr;
  for (const SlotComparison& slot : op.slots)
    if (side_of(slot) == model::Side::input && slot.is_sum) sum = &slot;
  if (sum == nullptr) return {};
  return slot_name(*sum) + " holds terms of a sum on each rank: a reduction is missing before it";
}

}  // namespace opdump::compare
