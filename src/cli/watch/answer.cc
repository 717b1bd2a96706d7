#include "cli/watch/answer.h"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/text/json.h"
#include "base/text/text.h"
#include "cli/slot_facts.h"
#include "compare/names.h"

namespace opdump::cli {
namespace {

constexpr double kGrowth = 1.5;  // below that, a maximum has not grown

// The alarm that was raised first, and by which rank.
std::optional<std::pair<std::uint32_t, dump::Alarm>> find_alarm(const dump::DumpSet& dump,
                                                                WatchAnswer& answer) {
  std::optional<std::pair<std::uint32_t, dump::Alarm>> first;
  for (const auto& [rank, directory] : dump.rank_directories()) {
    const auto watched = dump::read_watch_file(directory);
    if (!watched) {
      answer.notes.push_back(watched.error().message());
      continue;
    }
    answer.skipped_count = std::max(answer.skipped_count, watched->skipped_count);
    const dump::Alarm& alarm = watched->alarm;
    if (!alarm.kind.empty() && (!first || alarm.time_us < first->second.time_us)) first = {rank, alarm};
  }
  return first;
}

// An execution without its slots, which are made only of the one that is looked for.
std::optional<std::size_t> find_run(const dump::DumpSet& dump, std::uint32_t rank, std::int64_t step,
                                    const std::string& name) {
  for (std::size_t i = 0; i < dump.runs().size(); ++i) {
    const auto& section = dump.runs().section_of(i);
    if (section.rank != rank || section.step != step) continue;
    const dump::OperatorRun run = dump.runs().without_slots(i);
    if (run.op != nullptr && run.op->name == name) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_last_run(const dump::DumpSet& dump, std::uint32_t rank) {
  for (std::size_t i = dump.runs().size(); i-- > 0;)
    if (dump.runs().section_of(i).rank == rank) return i;
  return std::nullopt;
}

// The input whose magnitude says most, in the steps before.
std::optional<Trend> find_trend(const dump::DumpSet& dump, std::size_t index, const WatchAnswer& answer) {
  const SlotExtent* largest = nullptr;
  for (const SlotExtent& extent : answer.extents)
    if (extent.side == model::Side::input && model::is_floating(extent.dtype) &&
        std::isfinite(extent.largest()) && (largest == nullptr || extent.largest() > largest->largest()))
      largest = &extent;
  if (largest == nullptr) return std::nullopt;
  Trend trend{.slot = largest->slot};
  for (std::size_t i = 0; i <= index; ++i) {  // by rank and step
    if (dump.runs().operator_number(i) != dump.runs().operator_number(index)) continue;
    const auto& [rank, graph, step] = dump.runs().section_of(i);
    if (rank != answer.rank) continue;
    for (const SlotExtent& extent : extents_of(dump.runs()[i]))
      if (extent.slot == largest->slot && std::isfinite(extent.largest()))
        trend.values.emplace_back(step, extent.largest());
  }
  if (trend.values.size() < 2) return std::nullopt;
  for (std::size_t i = 0; i < trend.values.size(); ++i)
    if (trend.values[i].second <= trend.values[trend.since].second) trend.since = i;
  return trend;
}

// "6 infinities", "1 NaN and 6 infinities".
std::string count_of(const model::NotFinite& found) {
  const std::string infinities = std::to_string(found.inf) + inflect(found.inf, " infinity", " infinities");
  if (found.nan == 0) return infinities;
  return std::to_string(found.nan) + " NaN" + (found.inf == 0 ? "" : " and " + infinities);
}

std::string place_of(const dump::OperatorRun& run) {
  std::string text = compare::operator_name(run);
  if (run.op != nullptr && !run.op->source_file.empty()) text += " at " + dump::describe_source(*run.op);
  return text;
}

const SlotExtent* find_slot(const WatchAnswer& answer) {
  const auto found = std::ranges::find(answer.extents, answer.slot, &SlotExtent::slot);
  return found == answer.extents.end() ? nullptr : &*found;
}

void look_at_run(const dump::DumpSet& dump, std::optional<std::size_t> index, WatchAnswer& answer) {
  if (!index) return;
  answer.run = dump.runs()[*index];
  answer.extents = extents_of(*answer.run);
}

void take_not_finite(const dump::DumpSet& dump, const dump::Alarm& alarm, WatchAnswer& answer) {
  answer.slot = alarm.slot;
  const auto index = find_run(dump, answer.rank, alarm.step, alarm.operator_name);
  look_at_run(dump, index, answer);
  const SlotExtent* const made = find_slot(answer);
  const std::string what = made == nullptr ? "NaN or infinities" : count_of(made->not_finite);
  const std::string where = answer.run ? place_of(*answer.run) : alarm.operator_name;
  const std::string step = "step " + std::to_string(alarm.step) + ": ";
  if (alarm.kind == "outer_nan") {
    answer.sentence = step + where + " reads NaN that no recorded operator made (" + alarm.slot +
                      "), and they reach the gradients or the weights";
    answer.reason.advice = advice_on_outer_nan();
    return;
  }
  answer.sentence = step + where + " makes " + what + " (" + alarm.slot + ")";
  if (made == nullptr) return;
  answer.reason = explain(*answer.run, answer.extents, *made);
  answer.trend = find_trend(dump, *index, answer);
  if (alarm.kind != "scaler") return;
  answer.sentence += ", and the GradScaler has skipped " + std::to_string(answer.skipped_count) + " updates";
  answer.reason.advice = advice_on_scaler();
}

void take_alarm(const dump::DumpSet& dump, const dump::Alarm& alarm, WatchAnswer& answer) {
  answer.kind = alarm.kind;
  answer.step = alarm.step;
  if (!alarm.operator_name.empty()) return take_not_finite(dump, alarm, answer);
  answer.sentence = "step " + std::to_string(alarm.step) + ": " + alarm.text;
  if (alarm.kind != "exception") return;
  look_at_run(dump, find_last_run(dump, answer.rank), answer);
  if (answer.run) answer.sentence += "; the last operator that ended before it is " + place_of(*answer.run);
}

// No alarm, and the program did not end well.
void take_end(const dump::DumpSet& dump, int status, WatchAnswer& answer) {
  answer.kind = WIFSIGNALED(status) ? "signal" : "exit";
  answer.sentence = describe_program_end(status);
  look_at_run(dump, find_last_run(dump, answer.rank), answer);
  if (!answer.run) return;
  answer.step = answer.run->step;
  answer.sentence += " in step " + std::to_string(answer.run->step) + "; the last operator that ended is " +
                     place_of(*answer.run);
}

void note_steps(const dump::DumpSet& dump, WatchAnswer& answer) {
  for (std::uint32_t i = 0; i < dump.runs().section_count(); ++i) {
    const std::int64_t step = dump.runs().section(i).step;
    if (answer.first_step < 0 || step < answer.first_step) answer.first_step = step;
    answer.last_step = std::max(answer.last_step, step);
  }
  answer.watched_steps = answer.last_step + 1;
  for (const auto& [rank, status] : dump.statuses()) {
    answer.watched_steps = std::max(answer.watched_steps, status.reached_step + 1);
    for (const dump::Loss& loss : status.losses)
      answer.notes.push_back("not in the dump: " + loss.what + ", from " + loss.first + ": " + loss.reason);
  }
}

std::string describe(const SlotExtent& extent) {
  std::string text = extent.slot + "  " + std::string(model::dtype_info(extent.dtype).name) + " " +
                     model::format_shape(extent.shape);
  if (extent.not_finite.nan + extent.not_finite.inf > 0)
    text += ", " + count_of(extent.not_finite);
  else
    text += ", " + format_g(extent.min) + " to " + format_g(extent.max);
  return text;
}

std::string describe(const Trend& trend) {
  const auto& [from_step, from] = trend.values[trend.since];
  const auto& [to_step, to] = trend.values.back();
  if (trend.factor() < kGrowth || from_step == to_step)
    return "the largest magnitude of " + trend.slot + " has not grown since step " +
           std::to_string(trend.values.front().first) + ": " + format_g(trend.values.front().second) +
           ", now " + format_g(to);
  std::string text = "the largest magnitude of " + trend.slot + " grew from " + format_g(from) + " in step " +
                     std::to_string(from_step) + " to " + format_g(to) + " in step " +
                     std::to_string(to_step);
  if (to_step > from_step + 1) text += ", by " + format_fixed(trend.per_step(), 2) + " x a step";
  return text;
}

void add_line(std::string& text, std::string_view what, const std::string& value) {
  constexpr std::size_t kWidth = 10;
  text.append("  ").append(what).append(kWidth - what.size(), ' ').append(value).append("\n");
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json extent_json(const SlotExtent& extent) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json json{{"slot", extent.slot},
            {"dtype", model::dtype_info(extent.dtype).name},
            {"shape", std::vector(extent.shape.dims().begin(), extent.shape.dims().end())}};
  json["max"] = number(extent.max);
  json["min"] = number(extent.min);
  json["nan_count"] = extent.not_finite.nan;
  json["inf_count"] = extent.not_finite.inf;
  json["zero_count"] = extent.zeros;
  json["file"] = text_or_null(extent.file);
  return json;
}

Json trend_json(const Trend& trend) {
  Json json{{"slot", trend.slot},
            {"since", trend.values[trend.since].first},
            {"factor", trend.factor()},
            {"per_step", trend.per_step()}};
  json["values"] = Json::array();
  for (const auto& [step, value] : trend.values) json["values"].push_back(Json::array({step, value}));
  return json;
}

}  // namespace

double Trend::factor() const {
  return values[since].second > 0 ? values.back().second / values[since].second : INFINITY;
}

double Trend::per_step() const {
  const auto steps = static_cast<double>(values.back().first - values[since].first);
  return steps > 0 ? std::pow(factor(), 1 / steps) : 1;
}

std::string describe_program_end(int status) {
  if (WIFSIGNALED(status))
    return "the program was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
           ::strsignal(WTERMSIG(status)) + ")";
  return "the program ended with exit status " + std::to_string(WEXITSTATUS(status));
}

Result<WatchAnswer> judge_watched(const dump::DumpSet& dump, int status) {
  WatchAnswer answer;
  note_steps(dump, answer);
  if (const auto alarm = find_alarm(dump, answer)) {
    answer.rank = alarm->first;
    take_alarm(dump, alarm->second, answer);
  } else if (status != 0) {
    take_end(dump, status, answer);
  }
  return answer;
}

std::string format_watch(const WatchAnswer& answer, const std::string& folder) {
  const std::string skipped = answer.skipped_count == 0
                                  ? ""
                                  : "the GradScaler skipped " + counted(answer.skipped_count, "update") +
                                        " whose gradients were not finite: it is there for that";
  if (!answer.has_fired()) {
    std::string text = "nothing to report in " +
                       counted(static_cast<std::uint64_t>(answer.watched_steps), "step") +
                       ": no operator made a NaN or an infinity\n";
    if (!skipped.empty()) add_line(text, "note", skipped);
    for (const std::string& note : answer.notes) add_line(text, "note", note);
    if (!folder.empty()) add_line(text, "recorded", folder);
    return text;
  }
  std::string text = answer.sentence + "\n";
  const bool is_made = !answer.slot.empty();
  if (const std::string module = is_made && answer.run ? compare::module_of(*answer.run) : "";
      !module.empty())
    add_line(text, "module", module);
  if (!answer.reason.why.empty()) add_line(text, "why", answer.reason.why);
  if (is_made)
    for (std::string_view what = "tensors"; const SlotExtent& extent : answer.extents) {
      add_line(text, what, describe(extent) + (extent.file.empty() ? "" : ", in the dump"));
      what = "";
    }
  if (answer.trend) add_line(text, "trend", describe(*answer.trend));
  for (std::string_view what = "try"; const std::string& advice : answer.reason.advice) {
    add_line(text, what, advice);
    what = "";
  }
  if (answer.kind != "scaler" && !skipped.empty()) add_line(text, "note", skipped);
  for (const std::string& note : answer.notes) add_line(text, "note", note);
  if (folder.empty()) return text;
  add_line(text, "recorded",
           (answer.first_step == answer.last_step
                ? "step " + std::to_string(answer.first_step)
                : "steps " + std::to_string(answer.first_step) + " to " + std::to_string(answer.last_step)) +
               " in " + folder);
  if (answer.run && answer.run->op != nullptr)
    add_line(text, "",
             "opdump show " + folder + " " + compare::operator_name(*answer.run) + " --step " +
                 std::to_string(answer.run->step));
  return text;
}

std::string watch_json(const WatchAnswer& answer, const std::string& folder, int status) {
  Json json{{"schema_version", kWatchSchemaVersion}, {"outcome", answer.has_fired() ? "alarm" : "nothing"}};
  json["kind"] = text_or_null(answer.kind);
  json["sentence"] = text_or_null(answer.sentence);
  json["step"] = answer.step ? Json(*answer.step) : Json();
  json["rank"] = answer.run ? Json(answer.rank) : Json();
  const dump::LoggedOperator* const op = answer.run ? answer.run->op.get() : nullptr;
  json["operator"] = answer.run ? Json(compare::operator_name(*answer.run)) : Json();
  json["type"] = answer.run ? Json(answer.run->type) : Json();
  json["phase"] = op != nullptr ? Json(model::kPhaseNames[static_cast<std::size_t>(op->phase)]) : Json();
  json["module"] = answer.run ? text_or_null(compare::module_of(*answer.run)) : Json();
  json["source"] = op != nullptr && !op->source_file.empty() ? Json(model::format_source(*op)) : Json();
  json["slot"] = text_or_null(answer.slot);
  json["tensors"] = Json::array();
  for (const SlotExtent& extent : answer.extents) json["tensors"].push_back(extent_json(extent));
  json["why"] = text_or_null(answer.reason.why);
  json["advice"] = answer.reason.advice;
  json["trend"] = answer.trend ? trend_json(*answer.trend) : Json();
  json["watched_steps"] = answer.watched_steps;
  json["first_step"] = answer.first_step < 0 ? Json() : Json(answer.first_step);
  json["last_step"] = answer.last_step < 0 ? Json() : Json(answer.last_step);
  json["skipped_updates"] = answer.skipped_count;
  json["exit_status"] = WIFEXITED(status) ? Json(WEXITSTATUS(status)) : Json();
  json["signal"] = WIFSIGNALED(status) ? Json(WTERMSIG(status)) : Json();
  json["notes"] = answer.notes;
  json["folder"] = text_or_null(folder);
  return json_line(json);
}

}  // namespace opdump::cli
