#include "compare/measure/sharded/shard_statistics.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/measure/measure_pair.h"
#include "compare/measure/sharded/sharded_slot.h"
#include "compare/measure/statistics.h"

namespace opdump::compare {
namespace {

struct Parts {
  KnownStatistics whole;
  std::vector<Columns> columns;  // of each rank
  std::vector<std::uint64_t> counts;
  std::uint64_t whole_count = 0, all_count = 0;
};

std::optional<std::uint64_t> count_of(const std::optional<model::Shape>& shape) {
  return shape ? model::element_count(*shape) : std::nullopt;
}

Result<Parts> read_parts(const SlotComparison& slot) {
  const ShardedSlot& sharded = *slot.sharded;
  Parts parts;
  for (std::size_t i = 0; i < sharded.slots.size(); ++i) {
    const std::string rank = "rank " + std::to_string(sharded.ranks[i]);
    if (sharded.slots[i] == nullptr) return Error(Code::not_found, rank + " has no such tensor");
    auto known = statistics_of(*sharded.slots[i], whole_of(slot));
    if (!known) return known.take_error().within(rank);
    const auto count = count_of(known->shape);
    if (!count) return Error(Code::not_found, rank + " does not say the shape");
    parts.columns.push_back(std::move(known->columns));
    parts.counts.push_back(*count);
    parts.all_count += *count;
  }
  OPDUMP_TRY(parts.whole, statistics_of(whole_of(slot), *sharded.slots[0]));
  const auto count = count_of(parts.whole.shape);
  if (!count) return Error(Code::not_found, "one side does not say the shape");
  parts.whole_count = *count;
  return parts;
}

class StatisticsMeasure {
 public:
  StatisticsMeasure(SlotComparison& slot, const Parts& parts, const CompareOptions& options)
      : slot_(slot), sharded_(*slot.sharded), parts_(parts), options_(options) {}

  void run() {
    const std::uint64_t whole = parts_.whole_count;
    if (std::ranges::all_of(parts_.counts, [&](std::uint64_t count) { return count == whole; }))
      return compare_each();
    if (whole == 0 || parts_.all_count % whole != 0)
      return settle(Verdict::not_comparable, "the parts of the ranks are not all of the tensor");
    compare_together(parts_.all_count / whole);
  }

 private:
  void settle(Verdict verdict, std::string reason) {
    slot_.verdict = verdict;
    slot_.reason = std::move(reason);
  }

  StatisticsVerdict compare(const Columns& merged) const {
    const Columns& whole = parts_.whole.columns;
    return compare_statistics(sharded_.is_golden ? merged : whole, sharded_.is_golden ? whole : merged,
                              slot_.dtype, tolerance_of(slot_.dtype, options_));
  }

  // Compares them in their plain size, or in what gradients may be before they are averaged.
  StatisticsVerdict compare_parts(std::span<const Columns> columns, std::span<const std::uint64_t> counts,
                                  std::uint64_t copies) const {
    StatisticsVerdict plain = compare(merge_columns(columns, counts, copies, 1));
    if (plain.match || !plain.comparable || !sharded_.may_sum || sharded_.scale == 1) return plain;
    const StatisticsVerdict scaled = compare(merge_columns(columns, counts, copies, sharded_.scale));
    return scaled.match ? scaled : plain;
  }

  // Whether a known layout has sums, or an unknown one may have.
  bool may_be_sum() const {
    const auto& known = sharded_.known.placements;
    if (known.empty()) return sharded_.may_sum && model::is_floating(slot_.dtype);
    return std::ranges::any_of(known, [&](const auto& one) {
      return one ? one->kind == Placement::Kind::sum : sharded_.may_sum && model::is_floating(slot_.dtype);
    });
  }

  // Whether the parts are copies of others, each as often as the others: terms of a sum are not.
  bool are_copies(std::uint64_t copies) const {
    std::map<Columns, std::uint64_t> times;
    for (const Columns& columns : parts_.columns) ++times[columns];
    return std::ranges::all_of(times, [&](const auto& one) { return one.second % copies == 0; });
  }

  // The maximum of one element says all that there is to know.
  bool is_sum_of_scalars() const {
    if (parts_.whole_count != 1 || !may_be_sum()) return false;
    double sum = 0;
    for (const Columns& columns : parts_.columns) {
      const auto value = column_number(columns, "Max Value");
      if (!value) return false;
      sum += *value;
    }
    const Columns whole{{"Max Value", std::to_string(sum)}};
    return compare(whole).match;
  }

  void skip_sum() { settle(Verdict::skipped, "may be terms of a sum, of which statistics say nothing"); }

  void compare_each() {
    std::string reason;
    for (std::size_t i = 0; i < parts_.columns.size(); ++i) {
      const StatisticsVerdict verdict = compare_parts({&parts_.columns[i], 1}, {&parts_.counts[i], 1}, 1);
      if (!verdict.comparable) return settle(Verdict::unreadable, verdict.reason);
      if (verdict.match) continue;
      slot_.wrong_ranks.push_back(sharded_.ranks[i]);
      if (reason.empty()) reason = verdict.reason;
    }
    if (slot_.wrong_ranks.empty()) return settle(Verdict::match, "");
    if (is_sum_of_scalars()) {
      slot_.wrong_ranks.clear();
      slot_.is_sum = true;
      return settle(Verdict::match, "a sum of " + std::to_string(parts_.columns.size()));
    }
    // If one rank is right, all have the same tensor; and so if they are wrong alike.
    const bool is_none_right = slot_.wrong_ranks.size() == parts_.columns.size();
    if (is_none_right && may_be_sum() && !are_copies(parts_.columns.size())) {
      slot_.wrong_ranks.clear();
      return skip_sum();
    }
    settle(Verdict::own_error, std::move(reason));
  }

  void compare_together(std::uint64_t copies) {
    StatisticsVerdict verdict = compare_parts(parts_.columns, parts_.counts, copies);
    if (!verdict.comparable) return settle(Verdict::unreadable, std::move(verdict.reason));
    if (verdict.match) return settle(Verdict::match, "");
    if (copies > 1 && may_be_sum() && !are_copies(copies)) return skip_sum();
    slot_.wrong_ranks = sharded_.ranks;
    settle(Verdict::own_error, "all parts together: " + verdict.reason);
  }

  SlotComparison& slot_;
  const ShardedSlot& sharded_;
  const Parts& parts_;
  const CompareOptions& options_;
};

}  // namespace

void measure_shard_statistics(SlotComparison& slot, const CompareOptions& options) {
  slot.from_statistics = true;
  const auto parts = read_parts(slot);
  if (!parts) {
    slot.verdict = Verdict::unreadable;
    slot.reason = parts.error().message();
    return;
  }
  slot.shape = parts->whole.shape;
  StatisticsMeasure(slot, *parts, options).run();
}

}  // namespace opdump::compare
