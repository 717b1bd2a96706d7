#include "capture/flight_recorder.h"

#include <algorithm>
#include <utility>

#include "capture/clock.h"
#include "model/not_finite_search.h"

namespace opdump::capture {
namespace {

using model::NotFinite;
using model::NotFiniteSearch;

NotFinite count_not_finite(const RecordedSlot& slot) {
  const math::Statistics& statistics = statistics_of(slot);
  return {.nan = statistics.nan_count, .inf = statistics.negative_inf_count + statistics.positive_inf_count};
}

bool is_finite(const RecordedSlot& slot) {
  if (!model::is_floating(slot.dtype)) return true;
  const NotFinite found = count_not_finite(slot);
  return found.nan == 0 && found.inf == 0;
}

// What torch.amp.GradScaler runs after the backward pass.
constexpr std::string_view kUnscale = "_amp_foreach_non_finite_check_and_unscale_";

dump::Alarm describe(const Call& call, const NotFiniteSearch::NotFiniteTensor& tensor, const char* kind) {
  return {.kind = kind,
          .step = call.step,
          .operator_name = call.op->op.name,
          .slot = std::string(model::kSideNames[static_cast<std::size_t>(tensor.side)]) + "." +
                  std::to_string(tensor.index),
          .time_us = now_us()};
}

}  // namespace

const math::Statistics& statistics_of(const RecordedSlot& slot) {
  return slot.job ? slot.job->statistics() : slot.statistics;
}

FlightRecorder::Seen FlightRecorder::look(const Call& call) {
  if (has_fired()) return {};
  const bool is_all_finite = std::ranges::all_of(call.slots, is_finite);
  if (is_all_finite && call.op != unscaler_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(mutex_);
  if (is_all_finite) {
    skipped_in_a_row_ = 0;
    return {};
  }
  Seen seen = judge(call);
  if (call.op->op.type == kUnscale) {
    unscaler_ = call.op;
    seen.alarm = note_skip();
  }
  if (seen.alarm && has_fired_.exchange(true)) return {};
  return seen;
}

// What the backward pass made is what GradScalers are for.
std::optional<dump::Alarm> FlightRecorder::note_skip() {
  ++skipped_;
  std::optional<dump::Alarm> made = std::exchange(made_, std::nullopt);
  outer_.reset();
  has_kept_ = false;
  if (++skipped_in_a_row_ < kMostSkipped || !made) return std::nullopt;
  made->kind = "scaler";
  return made;
}

FlightRecorder::Seen FlightRecorder::judge(const Call& call) {
  NotFiniteSearch search;
  search.begin(0, call.may_ask);
  for (const RecordedSlot& slot : call.slots)
    if (model::is_floating(slot.dtype))
      search.take(slot.address.side, slot.address.index, count_not_finite(slot));
  search.end();
  const auto& made = search.made_nan() ? search.made_nan() : search.made_infinity();
  if (!made) return search.nan() ? judge_outer(call, describe(call, *search.nan(), "outer_nan")) : Seen();
  dump::Alarm alarm = describe(call, *made, "not_finite");
  const bool keeps = !std::exchange(has_kept_, true);
  if (call.op->op.phase != model::Phase::backward) return {.keeps_tensors = keeps, .alarm = std::move(alarm)};
  if (!made_) made_ = std::move(alarm);
  return {.keeps_tensors = keeps, .alarm = std::nullopt};
}

// A NaN that is read, and that nobody made: had somebody made it, there had been an alarm, or there will be
// one when the step ends.
FlightRecorder::Seen FlightRecorder::judge_outer(const Call& call, const dump::Alarm& alarm) {
  if (made_) return {};
  if (!outer_) outer_ = alarm;
  const bool has_arrived = call.op->op.phase != model::Phase::forward &&
                           std::ranges::any_of(call.slots, [](const RecordedSlot& slot) {
                             return slot.address.side == model::Side::output && !is_finite(slot);
                           });
  if (!has_arrived) return {};
  return {.keeps_tensors = false, .alarm = outer_};
}

std::optional<dump::Alarm> FlightRecorder::end_step() {
  const std::lock_guard lock(mutex_);
  std::optional<dump::Alarm> alarm = std::exchange(made_, std::nullopt);
  outer_.reset();
  has_kept_ = false;
  if (!alarm || has_fired_.exchange(true)) return std::nullopt;
  return alarm;
}

std::uint64_t FlightRecorder::skipped_count() const {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

}  // namespace opdump::capture
