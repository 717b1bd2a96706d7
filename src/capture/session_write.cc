// The writing half of a session: rows and links in order, and the story of what was lost.
#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "base/text.h"
#include "capture/call.h"
#include "capture/clock.h"
#include "capture/session.h"

namespace opdump::capture {
namespace {

constexpr std::uint64_t kFlushPeriodUs = 500'000;

}  // namespace

// What a worker does when it has nothing else to do. One thread at a time; a second one leaves at once.
void Session::drain() {
  const std::unique_lock draining(drain_mutex_, std::try_to_lock);
  if (!draining) return;
  try {  // a worker must not end the watched program because there is no memory for a row
    write_ready(false);
  } catch (const std::exception& e) {
    stop(Error(Code::internal, e.what()), "step " + std::to_string(step_), 0);
  }
}

// Writes the rows and links of the calls that are done, in order, and hands them to the system now and then.
void Session::write_ready(bool flush_now) {
  for (;;) {
    CallPointer call(nullptr, GiveBack{this});
    {
      const std::lock_guard lock(calls_mutex_);
      if (calls_.empty() || !calls_.front()->is_done()) break;
      call = std::move(calls_.front());
      calls_.pop_front();
    }
    write(*call);
  }
  const std::uint64_t now = now_us();
  if (stopped_ || (!flush_now && now - last_flush_us_ < kFlushPeriodUs)) return;
  last_flush_us_ = now;
  auto flushed = scheme_->flush();
  {
    const std::lock_guard lock(operators_mutex_);
    if (flushed && std::exchange(log_dirty_, false)) flushed = log_writer_.flush();
  }
  if (!flushed) stop(flushed.error(), "step " + std::to_string(step_), 0);
}

void Session::write(const Call& call) {
  std::uint64_t lost = call.slots.size();
  if (call.container && call.container->error())
    stop(*call.container->error(), call.op->op.name + ", step " + std::to_string(call.step), 0);
  for (const RecordedSlot& slot : call.slots) {
    if (stopped_) break;
    if (auto written = write(slot); !written)
      stop(written.error(), call.op->op.name + ", step " + std::to_string(call.step), 0);
    else
      --lost;
  }
  if (!stopped_)
    if (auto written = write_beside(call); !written)
      stop(written.error(), call.op->op.name + ", step " + std::to_string(call.step), 0);
  const std::lock_guard lock(status_mutex_);
  if (failure_loss_) status_.losses[*failure_loss_].count += lost;
  if (lost == call.slots.size()) return;
  call.op->is_written.store(true, std::memory_order_relaxed);
  note_step(call.step);
}

// What the scheme has of a call beside its tensors.
Result<> Session::write_beside(const Call& call) {
  if (!call.arguments.empty())
    OPDUMP_CHECK_OK(scheme_->write_arguments(call.slots.front().address, call.arguments));
  return write_overflow(call);
}

Result<> Session::write_overflow(const Call& call) {
  if (!call.overflowed) return ok();
  dump::SlotAddress output = call.slots.back().address;
  output.side = model::Side::output;
  output.index = *call.overflowed;
  return scheme_->write_overflow(output);
}

void Session::note_step(std::int64_t step) {
  if (status_.first_step < 0 || step < status_.first_step) status_.first_step = step;
  if (step <= status_.last_step) return;
  step_before_last_ = status_.last_step;
  status_.last_step = step;
}

// A step under way that recorded nothing needs no word.
void Session::note_step_end() {
  if (status_.last_step != step_ + static_cast<std::int64_t>(plan_.initial_step)) return;
  if (step_end_ == StepEnd::cut) status_.cut_step = status_.last_step;
  if (step_end_ != StepEnd::tail) return;
  status_.tail_step = std::exchange(status_.last_step, step_before_last_);
  if (status_.last_step < 0) status_.first_step = -1;
}

Result<> Session::write(const RecordedSlot& slot) {
  if (slot.job && slot.job->error()) return *slot.job->error();
  if (needs_.file) {
    if (!slot.owns_file)
      OPDUMP_CHECK_OK(scheme_->link_tensor(slot.address, slot.dtype, slot.shape, slot.job->file()));
    tensor_count_.fetch_add(1, std::memory_order_relaxed);
    tensor_bytes_.fetch_add(slot.data_bytes, std::memory_order_relaxed);
  }
  const bool has_row = math::has_statistics(slot.dtype) || scheme_->lists_all_tensors();
  if (plan_.content == plan::Content::tensor || scheme_->writes_calls() || !has_row) return ok();
  OPDUMP_CHECK_OK(scheme_->write_statistics(
      slot.address,
      {slot.data_bytes, slot.dtype, slot.shape, slot.job ? slot.job->statistics() : slot.statistics,
       slot.job ? slot.job->md5() : std::string(), slot.first_is_nan}));
  row_count_.fetch_add(1, std::memory_order_relaxed);
  return ok();
}

void Session::stop(const Error& error, std::string first, std::uint64_t count) {
  if (stopped_.exchange(true)) return;
  recording_ = false;
  say(LogLevel::error, "recording stopped: " + error.message() + "; the program goes on without it");
  const std::lock_guard lock(status_mutex_);
  failure_ = error;
  failure_loss_ = status_.losses.size();
  status_.losses.push_back({"tensors after recording stopped", error.message(), count, std::move(first)});
}

void Session::report_unseen(std::string_view what, std::string_view reason) {
  if (is_excluded_) return;
  {
    const std::lock_guard lock(status_mutex_);
    for (dump::Loss& loss : status_.losses)
      if (loss.what == what && loss.reason == reason) {
        ++loss.count;
        return;
      }
    status_.losses.push_back({std::string(what), std::string(reason), 1, "step " + std::to_string(step_)});
  }
  say(LogLevel::warning, std::string(what) + " is not recorded: " + std::string(reason));
}

Result<> Session::flush() {
  pipeline_->wait_all();
  {
    const std::lock_guard lock(drain_mutex_);
    write_ready(true);
  }
  const std::lock_guard lock(status_mutex_);
  return failure_ ? Result<>(*failure_) : ok();
}

Result<> Session::rest() {
  if (resting_ || !keeps_files()) return ok();
  OPDUMP_CHECK_OK(flush());
  const std::lock_guard lock(status_mutex_);
  count_into_status();
  dump::RecordingStatus so_far = status_;
  so_far.state = "idle";
  OPDUMP_CHECK_OK(place_.write(so_far));
  resting_ = true;
  return ok();
}

// Before anything is recorded that would be missing.
void Session::wake() {
  const std::lock_guard lock(status_mutex_);
  if (!resting_.exchange(false)) return;
  if (auto told = place_.write(status_); !told) status_.warnings.push_back(told.error().message());
}

Result<> Session::close() {
  if (graph_) end_step();
  if (model_graphs_) end_model();
  auto flushed = flush();
  recording_ = false;
  const dump::RecordingStatus status = final_status();
  auto told = keeps_files() ? place_.write(status) : ok();
  std::string summary = format_bytes(status.tensor_bytes) + " in " + counted(status.tensor_count, "tensor") +
                        ", " + counted(status.row_count, "row") + " of statistics from " +
                        counted(status.operator_count, "operator");
  if (status.first_step >= 0)
    summary += ", steps " + std::to_string(status.first_step) + " to " + std::to_string(status.last_step);
  say(LogLevel::info, "dumped " + summary + " to " + rank_directory_.string());
  say_what_was_missed(status);
  for (const dump::Loss& loss : status.losses)  // why was said when it happened
    say(LogLevel::error, "not in the dump: " + loss.what + ", " + std::to_string(loss.count) +
                             " at least, from " + loss.first);
  if (!told) return told;
  return flushed;
}

// A plan that found less than its author expected.
void Session::say_what_was_missed(const dump::RecordingStatus& status) {
  if (is_excluded_ || failure_) return;
  const std::int64_t run = steps_run_ + static_cast<std::int64_t>(plan_.initial_step);
  if (!plan_.steps.is_all() && status.call_count == 0 && operators_.empty())
    return say(LogLevel::warning, "no step was selected: the plan wants " + plan_.steps.format() +
                                      ", the program reached step " + std::to_string(run - 1));
  if (plan_.only_flagged_operators &&
      std::ranges::none_of(flags_, [](const auto& f) { return f.second.enabled; }))
    return say(LogLevel::warning, "no operator was flagged: dump_mode 2 records what set_dump() names");
  std::vector<std::string_view> names;
  for (const auto& [key, op] : operators_) names.push_back(op->op.name);
  if (plan_.only_flagged_operators) say_missed_flags(names);
  for (const std::string& text : plan::describe_unmatched(selector_, names)) say(LogLevel::warning, text);
  for (const std::string& text : plan_.models.describe_unmatched(names)) say(LogLevel::warning, text);
}

void Session::say_missed_flags(std::span<const std::string_view> names) const {
  constexpr std::size_t kHints = 3;
  std::set<std::string_view> known;  // operators and their scopes
  for (std::string_view name : names)
    for (std::size_t end = name.size(); end != std::string_view::npos && known.insert(name).second;) {
      end = name.rfind('/');
      name = name.substr(0, end);
    }
  const std::vector<std::string_view> list(known.begin(), known.end());
  for (const auto& [name, flag] : flags_) {
    if (flag.is_unnamed || known.contains(name)) continue;
    const auto similar = find_similar(name, list, kHints);
    say(LogLevel::warning, "no operator matched '" + name + "' of set_dump()" +
                               (similar.empty() ? "" : "; nearest: " + join_or(similar)));
  }
}

dump::RecordingStatus Session::final_status() {
  const std::lock_guard lock(status_mutex_);
  note_step_end();
  status_.ended_us = now_us();
  status_.state = status_.losses.empty() ? "complete" : "incomplete";
  count_into_status();
  return status_;
}

void Session::count_into_status() {
  status_.call_count = call_count_;
  status_.tensor_count = tensor_count_;
  status_.tensor_bytes = tensor_bytes_;
  status_.row_count = row_count_;
  const std::lock_guard operators(operators_mutex_);
  status_.operator_count = static_cast<std::uint64_t>(
      std::ranges::count_if(operators_, [](const auto& entry) { return entry.second->is_written.load(); }));
}

void Session::say(LogLevel level, std::string_view line) const {
  if (options_.log) options_.log(level, line);
}

}  // namespace opdump::capture
