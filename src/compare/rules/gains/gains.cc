#include "compare/rules/gains/gains.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/facts/operator_kind.h"
#include "compare/key_slots.h"
#include "compare/measure/measure_pair.h"
#include "compare/measure/statistics.h"
#include "compare/names.h"
#include "compare/rules/rounding/conditioning.h"

namespace opdump::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRecent = 16;  // operators; what one reads was mostly made by one of these
constexpr double kPrinted = 5e-6;    // relative: statistics have six digits
// Where the terms of a sum cancel, rounding leaves at most kCancelled roundoffs of their norm, of which
// hardly a digit agrees.
constexpr double kCancelled = 8, kFewDigits = 0.05;
// Statistics are few numbers of many elements.
constexpr double kFactor = 3, kFactorOfStatistics = 6, kPercentile = 0.999;
constexpr std::uint64_t kFewRuns = 300;  // runs, which do not say what a kind of operator does at most
constexpr double kLargestUsual = 64;     // that the limit of all kinds may have for one that is little known
constexpr double kInfinite = std::numeric_limits<double>::infinity();

Distance distance_of(const math::Metrics& metrics) {
  if (metrics.nan_mismatch_count > 0) return {kInfinite, kInfinite};
  if (metrics.relative_l2 == 0) return {};
  // Where golden's tensor is much smaller, or zero, the other one is the measure.
  const double whole = std::min(metrics.relative_l2, 1.0), mean = metrics.rmse / whole;
  return {whole, mean > 0 ? metrics.max_abs / mean : whole,
          (mean + metrics.rmse) * std::sqrt(static_cast<double>(metrics.count)),
          static_cast<double>(metrics.count)};
}

double relative(double golden, double actual, double size) {
  if (golden == actual || (std::isnan(golden) && std::isnan(actual))) return 0;
  if (!std::isfinite(golden) || !std::isfinite(actual)) return kInfinite;
  return size > 0 ? std::abs(actual - golden) / size : 1;
}

std::optional<Distance> distance_of(const Columns& golden, const Columns& actual, double count) {
  for (const std::string_view name : {"NaN Count", "Negative Inf Count", "Positive Inf Count"}) {
    const auto g = column_number(golden, name), a = column_number(actual, name);
    if (g && a && *g != *a) return Distance{kInfinite, kInfinite};
  }
  std::optional<double> whole, peak;
  double size = 0, norm = 0;  // the largest magnitude
  for (const Columns* columns : {&golden, &actual})
    for (const std::string_view name : {"Max Value", "Min Value"})
      size = std::max(size, std::abs(column_number(*columns, name).value_or(0)));
  for (const std::string_view name : {"Max Value", "Min Value", "L2Norm Value"}) {
    const auto g = column_number(golden, name), a = column_number(actual, name);
    if (!g || !a) continue;
    const bool is_norm = name == "L2Norm Value";
    auto& worst = is_norm ? whole : peak;
    if (is_norm) norm = std::max(*g, *a);
    worst = std::max(worst.value_or(0), relative(*g, *a, is_norm ? norm : size));
  }
  if (!whole && !peak) return std::nullopt;
  return Distance{whole ? *whole : *peak, std::max(whole.value_or(0), peak.value_or(0)),
                  whole ? norm : size * std::sqrt(count), count};
}

Result<Columns> columns_of(const dump::Slot& slot, const dump::Slot& other, GainSource source) {
  if (source == GainSource::as_compared) {
    OPDUMP_TRY(KnownStatistics known, statistics_of(slot, other));
    return std::move(known.columns);
  }
  OPDUMP_TRY(const dump::StoredTensor tensor, dump::StoredTensor::read(slot));
  return compute_extent(tensor.view(), slot.dtype);
}

// Returns how large a tensor of floating-point numbers is; one of another type counts as nothing.
Distance size_of(const dump::Slot& slot) {
  Distance size;
  if (!model::is_floating(slot.dtype)) return size;
  const auto columns = columns_of(slot, slot, GainSource::outputs);
  size.norm = columns ? column_number(*columns, "L2Norm Value").value_or(0) : 0;
  size.count = static_cast<double>(model::element_count(*slot.shape).value_or(0));
  return size;
}

// Nothing of what is no floating number, or not comparable.
std::optional<Distance> distance_of(const SlotComparison& slot, GainSource source) {
  if (slot.golden == nullptr || slot.actual == nullptr || !model::is_floating(slot.dtype) ||
      slot.verdict == Verdict::skipped)
    return std::nullopt;
  const bool has_tensors = slot.metrics && !slot.from_statistics;
  if (has_tensors && source != GainSource::statistics) return distance_of(*slot.metrics);
  if (!has_tensors && !slot.from_statistics) return std::nullopt;
  const auto golden = columns_of(*slot.golden, *slot.actual, source);
  const auto actual = columns_of(*slot.actual, *slot.golden, source);
  const auto count = slot.shape ? model::element_count(*slot.shape).value_or(0) : 0;
  return golden && actual ? distance_of(*golden, *actual, static_cast<double>(count)) : std::nullopt;
}

Distance larger_of(const Distance& a, const Distance& b) {
  return {std::max(a.whole, b.whole), std::max(a.peak, b.peak), std::max(a.norm, b.norm),
          std::max(a.count, b.count)};
}

// Says how far an output is off, or how far all inputs are.
struct MeasuredSlot {
  Distance worst;
  model::DType dtype = model::DType::float64;  // the coarsest
  std::string slot;
  double floor = 0;  // relative: less is rounding

  // Such as the gradient of a bias before a batch norm. Sums are rounded in float32 or better.
  bool is_cancelled(const Distance& terms) const {
    const double added = std::max(1.0, terms.count / std::max(worst.count, 1.0));
    const double u = roundoff(dtype);
    const double of_sum = std::min(u, roundoff(model::DType::float32)) * std::sqrt(added);
    return worst.peak > kFewDigits && worst.norm > 0 &&
           worst.norm <= kCancelled * std::max(u, of_sum) * terms.norm;
  }
  Gain against(GainOf of, const Distance& base, std::uint32_t index = 0) const {
    const double whole = std::max(base.whole, floor);
    return {of,   dtype,      index, worst.whole / whole, worst.peak / std::max(base.peak, whole),
            slot, worst.whole};
  }
};

MeasuredSlot measured_of(const SlotComparison& slot, const Distance& difference, bool is_by_statistics) {
  const model::DType dtype = coarser_dtype(slot.golden->dtype, slot.actual->dtype);
  return {difference, dtype, slot_name(slot), std::max(roundoff(dtype), is_by_statistics ? kPrinted : 0.0)};
}

void merge(std::optional<MeasuredSlot>& all, MeasuredSlot other) {
  if (!all) return static_cast<void>(all = std::move(other));
  if (other.worst.whole > all->worst.whole) all->slot = other.slot;
  all->worst = larger_of(all->worst, other.worst);
  all->dtype = coarser_dtype(all->dtype, other.dtype);
  all->floor = std::max(all->floor, other.floor);
}

// Hashes the statistics and the size of a tensor, which tell most tensors apart.
std::size_t print_of(const dump::Slot& slot) {
  const auto count = slot.shape ? model::element_count(*slot.shape).value_or(0) : 0;
  return std::hash<std::string_view>()(slot.statistics.values().bytes()) ^ (count * 0x9e3779b97f4a7c15);
}

// Which outputs of a kind of operators have something in common. Those of a list do.
std::uint32_t place_of(std::string_view type, std::uint32_t output) {
  constexpr std::uint32_t kLast = 3;
  return type.starts_with("_f") ? 0 : std::min(output, kLast);  // _foreach_add_, _fused_adam_
}

// What an optimizer does to weights, or to its own state.
bool updates(const dump::OperatorRun& run) {
  return run.op != nullptr && run.op->phase == model::Phase::optimizer &&
         (run.type.starts_with("add") || run.type.starts_with("_f") || run.type == "clone");
}

// Whoever reads it, data is data.
std::string kind_with_output(std::string_view type, const Gain& gain) {
  if (gain.of == GainOf::data) return "data";
  const std::string kind = kind_of(type).name;
  return gain.output == 0 ? kind : kind + "." + std::to_string(gain.output);
}

double percentile_of(const std::vector<double>& largest, std::uint64_t runs) {
  if (largest.empty()) return 0;
  const double place = static_cast<double>(runs - 1) * (1 - kPercentile);
  const auto i = static_cast<std::size_t>(place);
  if (i + 1 >= largest.size()) return largest.back();
  return largest[i] + (largest[i + 1] - largest[i]) * (place - static_cast<double>(i));
}

double limit_of(const GainSamples* samples, std::size_t which, double factor) {
  return samples == nullptr ? 0
                            : factor * std::max(1.0, percentile_of(samples->largest[which], samples->runs));
}

std::string rounded(double value) {
  return value >= 10 && value < 1e6 ? std::to_string(std::llround(value))
                                    : format_g(std::round(value * 10) / 10);
}

}  // namespace

std::string describe_gain(const Gain& gain, double excess) {
  const std::string times = rounded(std::max(gain.whole, gain.peak)) + " times as much as ";
  if (gain.of == GainOf::data)
    return "by its statistics, it differs " + times +
           "all that was made before: a weight, a constant or data that differs";
  return (gain.of == GainOf::statistics ? "by its statistics, it differs " + times + "what the operator reads"
                                        : "it differs " + times + "what it probably read") +
         ", " + rounded(excess) + " times more than without a fault";
}

bool is_measurable(const SlotComparison& slot) {
  return distance_of(slot, GainSource::as_compared).has_value();
}

bool GainMeter::has_difference() const {
  return updated_before_ > 0 ||
         std::ranges::any_of(recent_, [](const Recent& recent) { return recent.made.whole > 0; });
}

std::vector<Gain> GainMeter::measure(const OperatorComparison& op) {
  const dump::OperatorRun& run = op.run();
  if (run.rank != std::exchange(rank_, run.rank)) begin_rank();
  if (run.step != std::exchange(step_, run.step))
    updated_before_ = std::max(updated_before_, std::exchange(updated_, 0));
  if (op.golden == nullptr || op.actual == nullptr) return std::vector<Gain>();
  std::optional<MeasuredSlot> read, data;
  std::vector<std::pair<std::uint32_t, MeasuredSlot>> made;
  for (const SlotComparison& slot : op.slots) {
    const bool is_output = side_of(slot) == model::Side::output;
    if (!is_output && source_ == GainSource::outputs) continue;
    const auto difference = distance_of(slot, source_);
    if (!difference) continue;
    MeasuredSlot measured =
        measured_of(slot, *difference, source_ == GainSource::statistics || slot.from_statistics);
    if (is_output) {
      made.emplace_back(place_of(run.type, slot.golden->index), std::move(measured));
      continue;
    }
    if (!made_.contains(print_of(*slot.actual))) merge(data, measured);
    merge(read, std::move(measured));
  }
  note_made(op);
  std::vector<Gain> gains;
  if (data) gains.push_back(data->against(GainOf::data, {largest_}));
  if (made.empty()) return gains;
  Distance base, own;
  for (const Recent& recent : recent_) base = larger_of(base, recent.made);
  const double before = std::max({base.whole, updated_before_, read ? read->worst.peak : 0});
  for (const auto& [place, output] : made) {
    bool is_cancelled = output.is_cancelled(read ? read->worst : base);
    // The sizes of tensors that do not differ are not known yet.
    if (!is_cancelled && !read && output.worst.whole > kFewDigits)
      is_cancelled = output.is_cancelled(size_recent());
    if (!is_cancelled)
      gains.push_back(output.against(read ? GainOf::statistics : GainOf::outputs, {before}, place));
    own = larger_of(own, output.worst);
    own.whole = std::min(own.whole, 1.0);
    if (updates(run) && output.worst.whole <= kFewDigits) updated_ = std::max(updated_, output.worst.whole);
  }
  recent_.push_back({own, op.actual});
  if (recent_.size() > kRecent) recent_.pop_front();
  largest_ = std::max(largest_, std::min(own.peak, 1.0));
  return gains;
}

// What the last operators made, with the sizes of tensors that do not differ. These are read from their
// files.
Distance GainMeter::size_recent() {
  Distance all;
  for (Recent& recent : recent_) {
    if (const auto run = std::exchange(recent.run, nullptr))
      for (const dump::Slot& slot : run->slots)
        if (slot.side == model::Side::output && !slot.file.empty() && slot.shape)
          recent.made = larger_of(recent.made, size_of(slot));
    all = larger_of(all, recent.made);
  }
  return all;
}

void GainMeter::note_made(const OperatorComparison& op) {
  for (const SlotComparison& slot : op.slots)
    if (slot.actual != nullptr && slot.actual->side == model::Side::output &&
        !slot.actual->statistics.empty())
      made_.insert(print_of(*slot.actual));
}

void GainMeter::begin_rank() {
  recent_.clear();
  made_.clear();
  largest_ = updated_ = updated_before_ = 0;
}

void GainSamples::add(double whole, double peak) {
  GainSamples one;
  one.runs = 1;
  one.largest = {std::vector{whole}, std::vector{peak}};
  merge(one);
}

void GainSamples::merge(const GainSamples& other) {
  runs += other.runs;
  for (std::size_t which = 0; which < largest.size(); ++which) {
    std::vector<double>& of = largest[which];
    of.insert(of.end(), other.largest[which].begin(), other.largest[which].end());
    std::ranges::sort(of, std::greater());
    if (of.size() > kLargest) of.resize(kLargest);
  }
}

void GainTable::add(std::string_view type, const Gain& gain) {
  // What does not differ says nothing of what happens to differences.
  if (gain.peak == 0 || !std::isfinite(gain.whole) || !std::isfinite(gain.peak)) return;
  const Group group{kGainNames[static_cast<std::size_t>(gain.of)], model::dtype_info(gain.dtype).name};
  groups_[group][kind_with_output(type, gain)].add(gain.whole, gain.peak);
  all_[group].add(gain.whole, gain.peak);
}

Result<GainTable> GainTable::parse(std::string_view text) {
  const Error error(Code::config, "the gains of a file of limits are not in the form that opdump knows");
  const Json json = parse_ordered_json(text);
  if (!json.is_object()) return error;
  GainTable table;
  for (const auto& [of, types] : json.items()) {
    if (!types.is_object()) return error;
    for (const auto& [dtype, kinds] : types.items()) {
      if (!kinds.is_object()) return error;
      for (const auto& [kind, entry] : kinds.items()) {
        GainSamples samples;
        if (!entry.is_object() || !entry.contains("runs") || !entry["runs"].is_number_unsigned())
          return error;
        samples.runs = entry["runs"].get<std::uint64_t>();
        for (std::size_t which = 0; which < samples.largest.size(); ++which) {
          const auto list = entry.find(which == 0 ? "whole" : "peak");
          if (list == entry.end() || !list->is_array()) return error;
          for (const Json& value : *list) {
            if (!value.is_number()) return error;
            samples.largest[which].push_back(value.get<double>());
          }
        }
        table.groups_[{of, dtype}][kind].merge(samples);
        table.all_[{of, dtype}].merge(samples);
      }
    }
  }
  return table;
}

Result<GainTable> GainTable::parse_limits(std::string_view text) {
  const Json limits = parse_ordered_json(text);
  return parse(limits.is_object() ? json_text(limits.value("gains", Json())) : "");
}

std::string GainTable::to_json() const {
  Json json = Json::object();
  for (const auto& [group, kinds] : groups_)
    for (const auto& [kind, samples] : kinds)
      json[group.first][group.second][kind] = {
          {"runs", samples.runs}, {"whole", samples.largest[0]}, {"peak", samples.largest[1]}};
  return json_text(json);
}

double GainTable::excess(std::string_view type, const Gain& gain) const {
  const std::string of(kGainNames[static_cast<std::size_t>(gain.of)]);
  Group group{of, model::dtype_info(gain.dtype).name};
  if (!all_.contains(group)) group.second = "float32";
  const auto all = all_.find(group);
  if (all == all_.end()) return 0;
  const auto& kinds = groups_.at(group);
  const auto known = kinds.find(kind_with_output(type, gain));
  const GainSamples* own = known == kinds.end() ? nullptr : &known->second;
  const double factor = gain.of == GainOf::outputs ? kFactor : kFactorOfStatistics;
  double excess = 0;
  for (const auto& [which, value] :
       {std::pair(std::size_t{0}, gain.whole), std::pair(std::size_t{1}, gain.peak)}) {
    double limit = limit_of(own, which, factor);
    if (own == nullptr || own->runs < kFewRuns)
      limit = std::max(limit, std::min(limit_of(&all->second, which, factor), kLargestUsual));
    excess = std::max(excess, value / limit);
  }
  return excess;
}

}  // namespace opdump::compare
