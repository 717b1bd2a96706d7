#include "capture/recording_writer.h"

#include <exception>
#include <utility>

#include "base/text/text.h"
#include "capture/clock.h"
#include "dump/write/graph_files.h"
#include "dump/write/rank_tree.h"
#include "dump/write/run_metadata.h"
#include "dump/write/statistic_tables.h"
#include "dump/write/step_directories.h"
#include "math/stats/stats.h"

namespace opdump::capture {
namespace {

constexpr std::uint64_t kFlushPeriodUs = 20'000;  // a program that crashes loses no more than that
constexpr std::size_t kMaxWarnings = 100;  // in the status file; a program that does it once does it often

// "35.6 MiB in 239 tensors from 90 operators, step 0": what there is none of is left out.
std::string describe_counts(const dump::RecordingStatus& status) {
  std::string text;
  if (status.tensor_count > 0 || status.row_count == 0)
    text = format_bytes(status.tensor_bytes) + " in " + counted(status.tensor_count, "tensor");
  if (status.row_count > 0)
    text += (text.empty() ? "" : ", ") + counted(status.row_count, "row") + " of statistics";
  text += " from " + counted(status.operator_count, "operator");
  if (status.first_step < 0) return text;
  text += status.first_step == status.last_step ? ", step "
                                                : ", steps " + std::to_string(status.first_step) + " to ";
  return text + std::to_string(status.last_step);
}

}  // namespace

RecordingWriter::RecordingWriter(const plan::DumpPlan& plan, const SessionOptions& options,
                                 const RecordingRules& rules, RecordingState& state, OperatorTable& operators,
                                 RecordingStart start)
    : plan_(plan),
      options_(options),
      rules_(rules),
      state_(state),
      operators_(operators),
      rank_directory_(dump::rank_directory(plan.root, options.rank)),
      run_id_(start.status.run_id),
      folder_(std::move(start.folder)),
      scheme_(std::move(start.scheme)),
      status_(std::move(start.status)),
      watched_{.kept_steps = plan.watch_steps} {}

Result<> RecordingWriter::begin() {
  if (options_.keeps_files()) {
    OPDUMP_CHECK_OK(folder_.write(status_));
    if (plan_.run_metadata)
      OPDUMP_CHECK_OK(dump::write_run_metadata(rank_directory_, plan_.config_text,
                                               plan_.class_name_dtypes ? "CPU" : "GPU"));
  }
  write_watched();
  for (const std::string& warning : status_.warnings) log(LogLevel::warning, warning);
  if (folder_.was_added() && options_.warns_of_addition)
    log(LogLevel::warning, rank_directory_.string() +
                               ": has a dump already; this recording is added to it, as the original "
                               "does");
  return ok();
}

void RecordingWriter::drain() {
  bool flushed = false;
  {
    const std::unique_lock turn(turn_, std::try_to_lock);
    if (!turn) return;
    try {  // a worker must not end the watched program because there is no memory for a row
      flushed = write_rows(false);
    } catch (const std::exception& e) {
      stop(Error(Code::internal, e.what()), "step " + std::to_string(state_.step), 0);
    }
  }
  if (flushed) flush_log();
}

void RecordingWriter::write_done_calls(bool flush_now) {
  bool flushed = false;
  {
    const std::lock_guard turn(turn_);
    flushed = write_rows(flush_now);
  }
  if (flushed) flush_log();
}

Result<> RecordingWriter::flush() {
  write_done_calls(true);
  const std::lock_guard lock(status_mutex_);
  return failure_ ? Result<>(*failure_) : ok();
}

// The caller has the turn. Rows are handed to the system now and then: true if they were.
bool RecordingWriter::write_rows(bool flush_now) {
  while (const CallPointer call = calls_.pop_done()) write(*call);
  const std::uint64_t now = now_us();
  const bool is_due = !resting_ && now - last_flush_us_ >= kFlushPeriodUs;  // what rests is on the disk
  if (state_.stopped || (!flush_now && !is_due)) return false;
  last_flush_us_ = now;
  if (auto flushed = scheme_->flush(); !flushed) {
    stop(flushed.error(), "step " + std::to_string(state_.step), 0);
    return false;
  }
  return true;
}

void RecordingWriter::flush_log() {
  if (auto flushed = operators_.flush_log(); !flushed)
    stop(flushed.error(), "step " + std::to_string(state_.step), 0);
}

void RecordingWriter::write(const Call& call) {
  std::uint64_t lost = call.slots.size();
  if (call.container && call.container->error()) stop(*call.container->error(), call.describe(), 0);
  for (const RecordedSlot& slot : call.slots) {
    if (state_.stopped) break;
    if (auto written = write(slot); !written)
      stop(written.error(), call.describe(), 0);
    else
      --lost;
  }
  if (!state_.stopped)
    if (auto written = write_beside(call); !written) stop(written.error(), call.describe(), 0);
  const std::lock_guard lock(status_mutex_);
  if (failure_loss_) status_.losses[*failure_loss_].count += lost;
  if (lost == call.slots.size()) return;
  // Set once: what is written to leaves the cache of the program's thread, who looks beside it.
  if (!call.op->is_written.load(std::memory_order_relaxed)) {
    call.op->is_written.store(true, std::memory_order_relaxed);
    ++status_.operator_count;
  }
  note_step(call.step);
}

Result<> RecordingWriter::write(const RecordedSlot& slot) {
  if (slot.job && slot.job->error()) return *slot.job->error();
  if (rules_.needs.file) {
    if (!slot.owns_file)
      OPDUMP_CHECK_OK(scheme_->link_tensor(slot.address, slot.dtype, slot.shape, slot.job->file()));
    count_tensor(slot.data_bytes);
  }
  const bool has_row = math::has_statistics(slot.dtype) || rules_.lists_all_tensors;
  if (!rules_.writes_rows || !has_row) return ok();
  if (slot.source != dump::StatisticSource::host) note_not_computed(slot);
  OPDUMP_CHECK_OK(scheme_->write_statistics(
      slot.address,
      {slot.data_bytes, slot.dtype, slot.shape, slot.job ? slot.job->statistics() : slot.statistics,
       slot.job ? slot.job->md5() : std::string(), slot.job ? slot.job->sha1() : std::string(),
       slot.job ? slot.job->xxh128() : std::string(), slot.first_is_nan, slot.source}));
  row_count_.fetch_add(1, std::memory_order_relaxed);
  return ok();
}

// Said once.
void RecordingWriter::note_not_computed(const RecordedSlot& slot) {
  if (has_noted_not_computed_) return;
  for (const plan::Statistic statistic : plan_.statistics) {
    const plan::StatisticInfo& info = plan::statistic_table()[static_cast<std::size_t>(statistic)];
    if (dump::device_computes(info.column, slot.dtype, slot.source)) continue;
    has_noted_not_computed_ = true;
    warn("the device does not compute " + std::string(info.name) + " of " +
         std::string(model::dtype_info(slot.dtype).name) + ": such statistics are null");
    return;
  }
}

// What the scheme has of a call beside its tensors.
Result<> RecordingWriter::write_beside(const Call& call) {
  if (!call.arguments.empty())
    OPDUMP_CHECK_OK(scheme_->write_arguments(call.slots.front().address, call.arguments));
  if (!call.overflowed) return ok();
  dump::SlotAddress output = call.slots.back().address;
  output.side = model::Side::output;
  output.index = *call.overflowed;
  return scheme_->write_overflow(output);
}

bool RecordingWriter::write_now(std::span<const dump::SchemeWriter::Member> members, std::string where) {
  const std::lock_guard turn(turn_);
  auto written = write_members(members);
  if (!written) stop(written.error(), std::move(where), 0);
  return static_cast<bool>(written);
}

Result<> RecordingWriter::write_members(std::span<const dump::SchemeWriter::Member> members) {
  if (rules_.writes_calls) {
    std::uint64_t bytes = 0;
    for (const auto& [address, view] : members) bytes += view.byte_count();
    if (auto written = scheme_->write_call(members); !written) return written.take_error();
    tensor_count_.fetch_add(members.size(), std::memory_order_relaxed);
    tensor_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return ok();
  }
  for (const auto& [address, view] : members) {
    dump::StatisticRow row{view.byte_count(), view.dtype, view.shape, {}, {}};
    if (math::has_statistics(view.dtype))
      row.values = math::finish(math::partial_stats(view, rules_.needs.statistics));
    OPDUMP_CHECK_OK(scheme_->write_statistics(address, row));
    row_count_.fetch_add(1, std::memory_order_relaxed);
  }
  return ok();
}

void RecordingWriter::begin_step(std::int64_t step, bool selected, std::span<const std::string> operators) {
  const std::lock_guard turn(turn_);
  if (auto begun = scheme_->begin_step(step, selected, operators); !begun)
    stop(begun.error(), "step " + std::to_string(step - state_.initial_step), 0);
}

void RecordingWriter::end_step(const GraphRecorder::EndedStep& ended, std::int64_t expected, bool moves) {
  const std::int64_t step = state_.step_number();
  bool flushed = false;
  {
    const std::lock_guard turn(turn_);
    Result<> result = ok();
    if (moves) {
      flushed = write_rows(true);
      result = scheme_->move_step(step, expected, ended.graph_id);
    }
    if (result) result = write_graph(ended, step);
    if (!result) stop(result.error(), "step " + std::to_string(step), 0);
  }
  if (flushed) flush_log();
}

Result<> RecordingWriter::write_graph(const GraphRecorder::EndedStep& ended, std::int64_t step) {
  if (ended.graph && plan_.graphs) OPDUMP_CHECK_OK(dump::write_graph(rank_directory_, *ended.graph));
  if (plan_.run_metadata) OPDUMP_CHECK_OK(dump::append_global_order(rank_directory_, ended.graph_id, step));
  return plan_.parameters && ended.is_new ? write_constants(ended) : ok();
}

Result<> RecordingWriter::write_constants(const GraphRecorder::EndedStep& ended) {
  for (const GraphRecorder::Constant& constant : ended.constants) {
    if (!operators_.wants_constant(constant.name)) continue;
    const model::Operator op{.type = "Parameter", .name = constant.name, .source_file = {}};
    const dump::SlotAddress address{.op = &op,
                                    .graph_id = ended.graph_id,
                                    .step = dump::kConstantsStep,
                                    .timestamp_us = now_us(),
                                    .side = model::Side::output};
    const auto view =
        model::TensorView::row_major(constant.type.dtype, constant.type.shape, constant.data.data());
    if (view.byte_count() > constant.data.size()) continue;
    if (auto written = scheme_->write_tensor(address, view); !written) return written.take_error();
  }
  return ok();
}

void RecordingWriter::note_step(std::int64_t step) {
  if (status_.first_step < 0 || step < status_.first_step) status_.first_step = step;
  if (step <= status_.last_step) return;
  step_before_last_ = status_.last_step;
  status_.last_step = step;
}

// A step under way that recorded nothing needs no word.
void RecordingWriter::note_step_end(StepEnd end) {
  if (status_.last_step != state_.step_number()) return;
  if (end == StepEnd::cut) status_.cut_step = status_.last_step;
  if (end != StepEnd::tail) return;
  status_.tail_step = std::exchange(status_.last_step, step_before_last_);
  if (status_.last_step < 0) status_.first_step = -1;
}

void RecordingWriter::raise(dump::Alarm alarm) {
  if (!alarm.operator_name.empty())
    log(LogLevel::warning, "step " + std::to_string(alarm.step) + ": NaN or infinities begin with " +
                               alarm.operator_name + "; recording ends with this step, the program goes on");
  else if (alarm.kind != "exception")
    log(LogLevel::warning, "step " + std::to_string(alarm.step) + ": " + alarm.text +
                               "; recording ends with this step, the program goes on");
  const std::lock_guard lock(status_mutex_);
  watched_.alarm = std::move(alarm);
  write_watched();
}

void RecordingWriter::write_watched() {
  if (plan_.watch_steps == 0 || state_.stopped) return;
  if (auto written = dump::write_watch_file(rank_directory_, watched_); !written)
    status_.warnings.push_back(written.error().message());
}

void RecordingWriter::keep_last_steps(std::int64_t ended, std::int64_t graph_id,
                                      std::uint64_t skipped_count) {
  const std::lock_guard turn(turn_);
  kept_steps_.emplace_back(ended, graph_id);
  while (kept_steps_.size() > plan_.watch_steps) {
    const auto [step, graph] = kept_steps_.front();
    kept_steps_.pop_front();
    auto removed = dump::remove_step(rank_directory_, plan_.net_name, graph, step);
    if (removed) removed = operators_.prune_log(rank_directory_, step + 1);
    if (!removed) return stop(removed.error(), "step " + std::to_string(state_.step), 0);
  }
  const std::lock_guard lock(status_mutex_);
  watched_.first_step = kept_steps_.front().first;
  watched_.skipped_count = skipped_count;
  status_.first_step = watched_.first_step;
}

void RecordingWriter::stop(const Error& error, std::string first, std::uint64_t count,
                           std::string_view lost) {
  if (state_.stopped.exchange(true)) return;
  state_.recording = false;
  log(LogLevel::error, "recording stopped: " + error.message() + "; the program goes on without it");
  const std::lock_guard lock(status_mutex_);
  failure_ = error;
  failure_loss_ = status_.losses.size();
  status_.losses.push_back({std::string(lost), error.message(), count, std::move(first)});
}

bool RecordingWriter::has_failed() {
  const std::lock_guard lock(status_mutex_);
  return failure_.has_value();
}

void RecordingWriter::report_unseen(std::string_view what, std::string_view reason) {
  {
    const std::lock_guard lock(status_mutex_);
    for (dump::Loss& loss : status_.losses)
      if (loss.what == what && loss.reason == reason) {
        ++loss.count;
        return;
      }
    status_.losses.push_back(
        {std::string(what), std::string(reason), 1, "step " + std::to_string(state_.step)});
  }
  log(LogLevel::warning, std::string(what) + " is not recorded: " + std::string(reason));
}

void RecordingWriter::describe_run(std::string_view name, std::string_view value) {
  const std::lock_guard lock(status_mutex_);
  status_.environment.insert_or_assign(std::string(name), std::string(value));
}

void RecordingWriter::warn(const std::string& line) {
  log(LogLevel::warning, line);
  const std::lock_guard lock(status_mutex_);
  if (status_.warnings.size() < kMaxWarnings) status_.warnings.push_back(line);
}

Result<> RecordingWriter::rest() {
  const std::lock_guard lock(status_mutex_);
  count_into_status();
  dump::RecordingStatus so_far = status_;
  so_far.state = "idle";
  OPDUMP_CHECK_OK(folder_.write(so_far));
  resting_ = true;
  return ok();
}

// Call it before anything is recorded that would be missing.
void RecordingWriter::write_awake_status() {
  const std::lock_guard lock(status_mutex_);
  if (!resting_.exchange(false)) return;
  if (auto written = folder_.write(status_); !written) status_.warnings.push_back(written.error().message());
}

Result<> RecordingWriter::close(StepEnd end, std::int64_t reached_step,
                                std::span<const std::string> unmatched) {
  const dump::RecordingStatus status = final_status(end, reached_step);
  // CANN leaves nothing where no operator failed.
  const bool leaves_nothing = plan_.scheme == plan::SchemeKind::acl_tree &&
                              plan_.debug == plan::DebugMode::exception && status.call_count == 0 &&
                              status.losses.empty();
  auto written = options_.keeps_files() ? folder_.write(status) : ok();
  if (leaves_nothing) {
    folder_.remove_trace();
    if (options_.process.empty()) log(LogLevel::info, "no operator failed: nothing is saved");
    return written;
  }
  if (plan_.watch_steps > 0) return written;  // who watches says more
  const std::string summary = describe_counts(status);
  // A loader starts workers in every epoch, also after the last step to record.
  if (options_.process.empty())
    log(LogLevel::info, "dumped " + summary + " to " + rank_directory_.string());
  else if (status.call_count > 0)
    log(LogLevel::info, options_.process + ": dumped " + summary + " to " + rank_directory_.string());
  for (const std::string& sentence : unmatched) log(LogLevel::warning, sentence);
  for (const dump::Loss& loss : status.losses)  // the reason was logged when it happened
    log(LogLevel::error, "not in the dump: " + loss.what + ", " + std::to_string(loss.count) +
                             " at least, from " + loss.first);
  return written;
}

dump::RecordingStatus RecordingWriter::final_status(StepEnd end, std::int64_t reached_step) {
  const std::lock_guard lock(status_mutex_);
  note_step_end(end);
  status_.reached_step = reached_step;
  status_.lacks_tail =
      end == StepEnd::tail && !plan_.steps.contains(static_cast<std::uint64_t>(reached_step) + 1);
  status_.ended_us = now_us();
  status_.state = status_.losses.empty() ? "complete" : "incomplete";
  count_into_status();
  write_watched();
  return status_;
}

void RecordingWriter::count_into_status() {
  status_.call_count = call_count_;
  status_.tensor_count = tensor_count_;
  status_.tensor_bytes = tensor_bytes_;
  status_.row_count = row_count_;
}

void RecordingWriter::log(LogLevel level, std::string_view line) const {
  if (options_.log) options_.log(level, line);
}

}  // namespace opdump::capture
