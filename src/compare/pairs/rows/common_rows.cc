#include "compare/pairs/rows/common_rows.h"

#include <algorithm>
#include <set>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "compare/pairs/rows/find_axis_map.h"
#include "model/operator_traits.h"

namespace opdump::compare {
namespace {

using Rows = std::vector<std::pair<std::int64_t, std::int64_t>>;

constexpr std::size_t kFirst = 3;  // steps that tell whether runs have other rows

std::string describe_source(const PairedRuns& runs, std::size_t source) {
  const OperatorPair& pair = runs.pairs()[source];
  return one_line(operator_name(runs.runs(true).without_slots(pair.golden)));
}

std::shared_ptr<const SlotParts> leave_out(std::string why) {
  auto parts = std::make_shared<SlotParts>();
  parts->left_out = std::move(why);
  return parts;
}

bool only_moves(const dump::OperatorRun& run) {
  return kind_of(run.type).role == OperatorRole::moves || model::has_trait(run.type, model::Trait::casts);
}

}  // namespace

Result<Rows> parse_rows(std::string_view text) {
  Rows rows;
  for (const std::string_view piece : split(text, ',')) {
    const std::vector<std::string_view> sides = split(trim(piece), '=');
    const auto golden = sides.size() == 2 ? parse_int64(trim(sides[0])) : std::nullopt,
               actual = sides.size() == 2 ? parse_int64(trim(sides[1])) : std::nullopt;
    if (!golden || !actual || *golden < 0 || *actual < 0)
      return Error(Code::usage,
                   quote(piece) + ": expected GOLDEN=ACTUAL, two numbers of rows from 0 on, as 2=0");
    const bool is_known = std::ranges::any_of(
        rows, [&](const auto& row) { return row.first == *golden || row.second == *actual; });
    if (is_known) return Error(Code::usage, quote(piece) + ": a row of one run is one row of the other");
    rows.emplace_back(*golden, *actual);
  }
  return rows;
}

std::optional<CommonRows::Frame> CommonRows::frame_of(const OperatorPair& pair) const {
  if (!pair.is_whole()) return std::nullopt;
  const dump::Runs::Section& section = runs_.runs(true).section_of(pair.golden);
  if (split_) {
    const auto [of_golden, of_actual] = split_->calls_of(pair);
    return Frame(section.rank, of_golden, of_actual, 0);
  }
  const std::int64_t of_actual = runs_.runs(false).section_of(pair.actual).step;
  if (batches_.all.empty()) return Frame(section.rank, section.step, of_actual, 0);
  const std::int64_t of_one = batches_.are_of_golden ? of_actual : section.step;
  return Frame(section.rank, of_one, of_one, batches_.number_of(pair));
}

Result<std::unique_ptr<const CommonRows>> CommonRows::find(const dump::Runs& golden, const dump::Runs& actual,
                                                           std::span<const OperatorPair> pairs,
                                                           const Wanted& wanted, MicroBatches batches,
                                                           std::optional<SplitBatches> split) {
  std::unique_ptr<CommonRows> common(new CommonRows(golden, actual, pairs, std::move(batches)));
  common->split_ = std::move(split);
  OPDUMP_TRY(const bool is_found, common->solve(wanted));
  if (!is_found) common.reset();
  return std::unique_ptr<const CommonRows>(std::move(common));
}

bool CommonRows::has_other_shape(std::span<const std::size_t> places) const {
  return std::ranges::any_of(places, [&](std::size_t place) {
    const std::vector<ShapedSlot> slots = runs_.slots(place);
    return std::ranges::any_of(slots, [](const ShapedSlot& slot) { return slot.is_other_shape(); });
  });
}

bool CommonRows::may_be_other(const dump::Runs& golden, const dump::Runs& actual,
                              std::span<const OperatorPair> pairs) {
  const CommonRows common(golden, actual, pairs, {});
  std::optional<Frame> last;
  std::size_t count = 0;
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    const auto frame = common.frame_of(pairs[place]);
    if (!frame) continue;
    if (frame != last && ++count > kFirst) return false;
    last = frame;
    if (common.has_other_shape(std::span(&place, 1))) return true;
  }
  return false;
}

bool CommonRows::may_be_reordered(const dump::Runs& golden, const dump::Runs& actual,
                                  std::span<const OperatorPair> pairs) {
  const CommonRows common(golden, actual, pairs, {});
  if (!common.runs_.wiring(true).is_recorded() || !common.runs_.wiring(false).is_recorded()) return false;
  std::optional<Frame> first;
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    const auto frame = common.frame_of(pairs[place]);
    if (!frame || (first && frame != first)) continue;
    first = frame;
    places.push_back(place);
  }
  return find_order_map(common.runs_, places, common.origins_).has_value();
}

const SplitRows* CommonRows::split_of(const Frame& frame) const {
  if (!split_) return nullptr;
  const auto found = split_->rows.find({std::get<1>(frame), std::get<2>(frame)});
  return found == split_->rows.end() ? nullptr : &found->second;
}

// Most runs have the same rows, and others need not be asked.
bool CommonRows::find_maps(const std::map<Frame, std::vector<std::size_t>>& frames, const Wanted& wanted) {
  std::size_t count = 0;
  std::optional<std::int64_t> next;  // position of golden
  std::size_t looked = 0;
  const bool are_reordered = !split_ && std::ranges::none_of(frames, [&](const auto& frame) {
    return looked++ < kFirst && has_other_shape(frame.second);
  });
  for (const auto& [frame, places] : frames) {
    const bool is_first = count++ < kFirst;
    if (count > kFirst && maps_.empty() && !split_) return false;
    if ((is_first || split_) && !are_reordered && split_of(frame) == nullptr && !has_other_shape(places))
      continue;
    auto found = are_reordered ? find_order_map(runs_, places, origins_)
                               : find_axis_map(runs_, places, wanted, next, split_of(frame), origins_);
    // Where no data is of other shapes, as before the first position that is kept, only results are.
    if (!found && is_first && !split_ && !(are_reordered && !maps_.empty()) &&
        (are_reordered || reads_other_shapes(runs_, places, origins_)))
      return false;
    if (!found) continue;
    if (const AxisStretch& last = found->map.blocks.back().back(); found->map.axes.size() > 1)
      next = found->map.axes.back().name == kKeys ? last.count : last.golden + last.count;
    if (note_.empty()) note_ = describe(found->map) + ", by " + found->by;
    is_telling_ |= found->is_telling;
    if (doubt_.empty()) doubt_ = std::move(found->doubt);
    maps_.emplace(frame, std::move(found->map));
  }
  return !maps_.empty();
}

Result<bool> CommonRows::solve(const Wanted& wanted) {
  std::map<Frame, std::vector<std::size_t>> frames;
  for (std::size_t place = 0; place < runs_.pairs().size(); ++place)
    if (const auto frame = frame_of(runs_.pairs()[place])) frames[*frame].push_back(place);
  if (frames.empty() || !runs_.wiring(true).is_recorded() || !runs_.wiring(false).is_recorded()) {
    if (wanted.empty()) return false;
    return Error(Code::usage, "--rows: the dumps do not say how operators read what others made");
  }
  if (!find_maps(frames, wanted)) {
    if (wanted.empty()) return false;
    return Error(Code::usage, "--rows: the runs have no such rows, or differ in more than rows");
  }
  std::optional<Frame> last;
  bool is_whole = false;  // of its step
  for (std::size_t place = 0; place < runs_.pairs().size(); ++place) {
    const auto frame = frame_of(runs_.pairs()[place]);
    const auto map = frame ? maps_.find(*frame) : maps_.end();
    if (frame && frame != last) is_whole = is_complete(*frame);
    if (frame) last = frame;
    sums_.add(place, map == maps_.end() ? nullptr : &map->second,
              {.is_complete = is_whole, .is_update = frame && std::get<3>(*frame) == 0});
    // The sums of micro-batches are compared where they are added up.
    left_out_ += frame && sums_.source_of(place) && (!is_whole || sums_.mixes_rows(std::get<0>(*frame)));
  }
  if (!batches_.all.empty()) note_ = describe_batches() + note_;
  return true;
}

// The micro-batches of a step have each row of the batch once.
bool CommonRows::is_complete(const Frame& frame) const {
  auto [rank, golden_step, actual_step, number] = frame;
  std::vector<int> count;
  for (auto map = maps_.lower_bound({rank, golden_step, actual_step, 1});
       map != maps_.end() && std::get<0>(map->first) == rank && std::get<1>(map->first) == golden_step &&
       std::get<2>(map->first) == actual_step;
       ++map) {
    const NamedAxis& rows = map->second.axes.front();
    const std::int64_t few = batches_.are_of_golden ? rows.golden : rows.actual;
    count.resize(static_cast<std::size_t>(batches_.are_of_golden ? rows.actual : rows.golden));
    std::int64_t found = 0;
    for (const RowAxisMap::Block& block : map->second.blocks)
      for (std::int64_t i = 0; i < block.front().count; ++i, ++found)
        ++count[static_cast<std::size_t>(
            (batches_.are_of_golden ? block.front().actual : block.front().golden) + i)];
    if (found != few) return false;
  }
  return !count.empty() && std::ranges::all_of(count, [](int times) { return times == 1; });
}

bool CommonRows::differs_in_positions() const {
  return std::ranges::all_of(maps_, [](const auto& step) {
    const std::vector<NamedAxis>& axes = step.second.axes;
    return axes.size() > 1 && axes.front().golden == axes.front().actual;
  });
}

// Whether each row is in a map, whatever of its positions is.
bool CommonRows::cover_rows() const {
  std::map<std::tuple<bool, std::uint32_t, std::int64_t>, std::set<std::int64_t>> rows;  // by run, rank, step
  std::map<std::tuple<bool, std::uint32_t, std::int64_t>, std::int64_t> all;
  for (const auto& [frame, map] : maps_) {
    const auto& [rank, of_golden, of_actual, number] = frame;
    for (const bool is_golden : {true, false}) {
      const std::tuple key(is_golden, rank, is_golden ? of_golden : of_actual);
      all[key] = is_golden ? map.axes.front().golden : map.axes.front().actual;
      for (const RowAxisMap::Block& block : map.blocks)
        for (std::int64_t i = 0; i < block.front().count; ++i)
          rows[key].insert((is_golden ? block.front().golden : block.front().actual) + i);
    }
  }
  return std::ranges::all_of(all, [&](const auto& step) {
    return static_cast<std::int64_t>(rows[step.first].size()) == step.second;
  });
}

// Whether each place of the data is in the map of a step, on both sides.
bool CommonRows::cover_all() const {
  struct Places {
    std::int64_t all = 0, mapped = 0;
  };
  std::map<std::tuple<bool, std::uint32_t, std::int64_t>, Places> places;  // by run, rank and step
  for (const auto& [frame, map] : maps_) {
    std::int64_t golden = 1, actual = 1, mapped = 0;
    for (const NamedAxis& axis : map.axes) {
      if (axis.name == kKeys) continue;
      golden *= axis.golden;
      actual *= axis.actual;
    }
    for (const RowAxisMap::Block& block : map.blocks) {
      std::int64_t count = 1;
      for (std::size_t i = 0; i < block.size(); ++i)
        if (map.axes[i].name != kKeys) count *= block[i].count;
      mapped += count;
    }
    const auto& [rank, of_golden, of_actual, number] = frame;
    for (const bool is_golden : {true, false}) {
      Places& step = places[{is_golden, rank, is_golden ? of_golden : of_actual}];
      step.all = is_golden ? golden : actual;
      step.mapped += map.is_packed ? step.all : mapped;
    }
  }
  return std::ranges::all_of(places, [](const auto& step) { return step.second.mapped == step.second.all; });
}

// What scales the sum over a micro-batch is another number than that of a batch: the number of micro-batches.
bool CommonRows::is_of_sum(const Frame& frame, std::size_t place) const {
  return std::get<3>(frame) > 0 && sums_.source_of(place).has_value();
}

std::string CommonRows::describe_batches() const {
  return std::to_string(batches_.count()) + " micro-batches of " +
         (batches_.are_of_golden ? "golden" : "actual") + " are a batch of " +
         (batches_.are_of_golden ? "actual" : "golden") +
         ", and gradients are compared "
         "where they are added up: ";
}

bool CommonRows::only_chooses(const OperatorPair& pair) const {
  const bool is_golden = pair.golden != OperatorPair::kNone;
  return !pair.is_whole() && origins_.only_chooses(is_golden, is_golden ? pair.golden : pair.actual);
}

void CommonRows::add_parts(OperatorComparison& op, const OperatorPair& pair) const {
  const auto frame = frame_of(pair);
  if (!frame) return;
  const auto map = maps_.find(*frame);
  const auto place = static_cast<std::size_t>(&pair - runs_.pairs().data());
  for (SlotComparison& slot : op.slots) {
    if (slot.golden == nullptr || slot.actual == nullptr) continue;
    const auto source = slot.golden->side == model::Side::output
                            ? sums_.source_of(place)
                            : sums_.source_of_input(place, slot.golden->index);
    if (source) {
      slot.parts =
          leave_out("follows from " + describe_source(runs_, *source) + ", which puts rows together");
    } else if (map != maps_.end() && map->second.is_reordered() && slot.golden->side == model::Side::input &&
               origins_.only_chooses(true, pair.golden)) {
      slot.parts = leave_out("is put together in another order of rows");
    } else if (map != maps_.end() && slot.golden->shape && slot.actual->shape) {
      // A mask of all rows may be one of the tokens of each of them.
      const bool may_spread = slot.golden->side == model::Side::input || map->second.is_packed;
      if (const auto axes = find_parts(map->second, *slot.golden->shape, *slot.actual->shape, may_spread))
        slot.parts = axes->parts;
      else if (map->second.is_packed && only_moves(*op.golden))
        slot.parts = leave_out("has axes in another order, which positions of all rows in one have");
      if (slot.parts == nullptr && is_of_sum(*frame, place))
        slot.parts = leave_out("is read for a sum over the rows of a micro-batch");
    }
  }
}

}  // namespace opdump::compare
