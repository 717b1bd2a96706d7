#include "capture/call_recorder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "capture/clock.h"
#include "capture/tensor_forms.h"
#include "math/stats/stats.h"

namespace opdump::capture {
namespace {

// Up to this size a tensor that goes to a file is copied: lending it would cost more.
constexpr std::uint64_t kCopiedBytes = 32 * 1024;
// Calls whose rows wait for a slow tensor before them; each is about a kilobyte.
constexpr std::size_t kMaxWaitingCalls = 32 * 1024;
constexpr std::uint64_t kMaxChanges = 20;  // of memory, unannounced: more are not listed

// Now, but never the same twice for one operator: its files differ by it.
std::uint64_t next_moment(const DefinedOperator& op) {
  const std::uint64_t now = now_us();
  std::uint64_t last = op.last_us.load(std::memory_order_relaxed), next = 0;
  do next = std::max(now, last + 1);
  while (!op.last_us.compare_exchange_weak(last, next, std::memory_order_relaxed));
  return next;
}

}  // namespace

CallRecorder::CallRecorder(const plan::DumpPlan& plan, Options options, const RecordingRules& rules,
                           const RecordingState& state, OperatorTable& operators, RecordingWriter& writer)
    : plan_(plan),
      options_(options),
      rules_(rules),
      state_(state),
      operators_(operators),
      writer_(writer),
      watcher_(operators.watches() ? std::make_unique<Watcher>() : nullptr),
      flight_(plan.watch_steps > 0 ? std::make_unique<FlightRecorder>() : nullptr),
      reads_at_once_(plan.debug != plan::DebugMode::none || plan.sample_count > 0 || rules.holds ||
                     rules.lists_all_tensors || watcher_ != nullptr || flight_ != nullptr),
      reuse_(options.reuses ? std::make_unique<ReuseTable>(rules.needs.file) : nullptr),
      read_check_(options.checks_reads ? std::make_unique<ReadCheck>() : nullptr),
      pipeline_(options.threads, options.memory_limit_bytes, [&writer] { writer.drain(); }) {}

void CallRecorder::begin_step() {
  if (reuse_) reuse_->begin_step();
  overflow_.begin_step();
}

// What is read as soon as it is reported has to be there.
void CallRecorder::await(std::span<const Operand> operands) const {
  if (!reads_at_once_) return;
  for (const Operand& operand : operands)
    if (operand.is_late && operand.undumped.empty()) (void)options_.lender.wait(operand.owner);
}

void CallRecorder::begin(Call& call, std::span<const Operand> inputs) {
  await(inputs);
  if (watcher_) watcher_->note_begin();
  call.records_data = call.op->selected.load(std::memory_order_relaxed);
  if (!call.records_data) return;
  if (plan_.debug == plan::DebugMode::overflow)
    call.reads_non_finite =
        std::ranges::any_of(inputs, [&](const auto& input) { return overflow_.overflows(input); });
  if (plan_.sides != plan::Sides::outputs && !call.reads_non_finite)
    record_side(call, model::Side::input, inputs);
  if (flight_) keep_inputs(call, inputs);
}

void CallRecorder::set_arguments(Call& call, std::vector<model::Argument> arguments) {
  if (flight_) {
    call.may_ask =
        std::ranges::any_of(arguments, [](const auto& argument) { return is_non_finite(argument); });
    call.op->may_ask.store(call.may_ask, std::memory_order_relaxed);
  }
  if (plan_.debug == plan::DebugMode::overflow && !call.reads_non_finite)
    call.reads_non_finite =
        std::ranges::any_of(arguments, [](const auto& argument) { return is_non_finite(argument); });
  if (plan_.operator_arguments && call.records_data) call.arguments = std::move(arguments);
}

void CallRecorder::end(CallPointer call, std::span<const Operand> outputs, bool failed) {
  await(outputs);
  if (watcher_ && !failed) watch(*call, outputs);
  if (call->records_data) finish(std::move(call), outputs, failed);
}

// The end of a call whose data is wanted.
void CallRecorder::finish(CallPointer call, std::span<const Operand> outputs, bool failed) {
  if (rules_.holds && !keeps_held(*call, outputs, failed)) return drop_held(*call);
  for (const auto& [operand, reason] : call->undumped)
    operators_.log_undumped(*call->op, call->step, model::Side::input, operand, reason);
  if (!failed && plan_.sides != plan::Sides::inputs) record_side(*call, model::Side::output, outputs);
  if (call->slots.empty()) return;  // a view
  if (flight_ && !failed) look_for_alarm(*call, outputs);
  writer_.count_call();
  if (rules_.writes_calls)
    submit_container(*call);
  else if (rules_.holds)
    submit_held(*call);
  const bool now = failed && plan_.debug == plan::DebugMode::exception;
  queue(std::move(call));
  if (now) (void)flush();  // before the error reaches the program; a failure of ours has been logged
}

void CallRecorder::queue(CallPointer call) {
  if (writer_.calls().push(std::move(call)) <= kMaxWaitingCalls) return;
  pipeline_.wait_all();
  writer_.write_done_calls();
}

Result<> CallRecorder::flush() {
  pipeline_.wait_all();
  return writer_.flush();
}

// Whether a call whose inputs are held is one that the plan looks for.
bool CallRecorder::keeps_held(Call& call, std::span<const Operand> outputs, bool failed) {
  switch (plan_.debug) {
    case plan::DebugMode::none:
      return true;
    case plan::DebugMode::exception:
      return failed;
    case plan::DebugMode::overflow:
      break;
  }
  // An operator that passes on what it was given -- a mask with infinities, the overflow of another
  // operator -- has not overflowed.
  if (failed || call.reads_non_finite || !(call.overflowed = overflow_.find(outputs))) return false;
  const std::uint64_t number = overflow_count_.fetch_add(1) + 1;
  return plan_.overflow_limit == 0 || number <= plan_.overflow_limit;
}

void CallRecorder::drop_held(Call& call) {
  for (RecordedSlot& slot : call.slots)
    if (slot.job) pipeline_.drop_held(slot.job);
}

void CallRecorder::submit_held(Call& call) {
  for (RecordedSlot& slot : call.slots)
    if (slot.job) pipeline_.submit_held(slot.job);
}

void CallRecorder::record_side(Call& call, model::Side side, std::span<const Operand> operands) {
  // Where an execution is one file, it has one time.
  const bool has_time = plan_.scheme == plan::SchemeKind::acl_tree && !call.slots.empty();
  const std::uint64_t timestamp_us =
      has_time ? call.slots.front().address.timestamp_us : next_moment(*call.op);
  if (!call.op->choice.excluded.empty()) return record_without_excluded(call, side, operands, timestamp_us);
  for (const Operand& operand : operands) record(call, side, operand, timestamp_us);
}

// Those that follow an excluded tensor move up.
void CallRecorder::record_without_excluded(Call& call, model::Side side, std::span<const Operand> operands,
                                           std::uint64_t timestamp_us) {
  const auto& excluded = call.op->choice.excluded;
  for (const Operand& operand : operands) {
    if (std::ranges::find(excluded, plan::SlotPosition{side, operand.index}) != excluded.end()) continue;
    Operand moved = operand;
    moved.index -= static_cast<std::uint32_t>(std::ranges::count_if(
        excluded, [&](plan::SlotPosition slot) { return slot.side == side && slot.index < operand.index; }));
    record(call, side, moved, timestamp_us);
  }
}

void CallRecorder::record(Call& call, model::Side side, const Operand& operand, std::uint64_t timestamp_us) {
  if (const auto reason = rules_.reason_not_to_dump(operand); !reason.empty()) {
    if (plan_.debug == plan::DebugMode::none || side == model::Side::output)
      return operators_.log_undumped(*call.op, call.step, side, operand, reason);
    call.undumped.emplace_back(operand, reason);
    return;
  }
  RecordedSlot& slot = call.slots.emplace_back();
  slot.address = {&call.op->op, call.graph_id, call.step, timestamp_us, side, operand.index};
  if (!operand.format.empty()) slot.address.format = operand.format;
  slot.address.original_shape = operand.original_shape;
  slot.dtype = operand.view.dtype;
  const model::TensorView* view = &operand.view;
  std::optional<model::TensorView> other;  // the same memory seen otherwise: few are, and a view is large
  if (!plan_.default_format && !view->is_contiguous()) {
    const bool is_channels_last = view->is_channels_last();
    other = is_channels_last ? view->in_memory_order() : volumes_in_memory_order(*view);
    if (other->is_contiguous()) {
      view = &*other;
      slot.address.format = is_channels_last ? "NHWC" : "NDHWC";
    }
  }
  if (plan_.sample_count > 0 && view->element_count() > plan_.sample_count)
    return record_sample(slot, operand, *view);
  slot.shape = view->shape;
  slot.data_bytes = view->byte_count();
  if (operand.statistics) return record_given(operand, slot);
  if (rules_.lists_all_tensors && can_overflow(view->dtype)) slot.first_is_nan = starts_with_nan(*view);
  if (!rules_.order_matters && !view->is_contiguous()) view = &other.emplace(in_memory(*view));
  if (!rules_.needs.file && !math::has_statistics(slot.dtype)) return;
  if (slot.data_bytes <= rules_.inline_bytes && !operand.is_late && !read_check_)
    slot.statistics = math::finish(math::partial_stats(*view, rules_.needs.statistics));
  else
    reuse_or_examine(operand, *view, slot);
}

// Statistics that the engine computes.
void CallRecorder::record_given(const Operand& operand, RecordedSlot& slot) {
  slot.source = plan_.statistics_precision == plan::Precision::low ? dump::StatisticSource::device_low
                                                                   : dump::StatisticSource::device;
  if (!operand.is_late) {
    slot.statistics = given_statistics(operand.statistics);
    return;
  }
  slot.job = std::make_shared<Job>(operand.statistics);
  pipeline_.submit_borrowed(slot.job, options_.lender.borrow(operand.owner, true), 0);
}

void CallRecorder::record_sample(RecordedSlot& slot, const Operand& operand, const model::TensorView& view) {
  const model::Shape shape{static_cast<std::int64_t>(plan_.sample_count)};
  std::vector<std::byte> elements;
  Operand sample = operand;
  if (!view.is_contiguous()) {
    elements = first_elements(view, plan_.sample_count);
    sample.owner = nullptr;  // of a copy that lives for this call
    sample.content = 0;
  }
  const auto first =
      model::TensorView::row_major(view.dtype, shape, elements.empty() ? view.data : elements.data());
  slot.shape = shape;
  slot.address.original_shape = {};
  slot.data_bytes = first.byte_count();
  reuse_or_examine(sample, first, slot);
}

// Uses what is known of the bytes, or examines them.
void CallRecorder::reuse_or_examine(const Operand& operand, const model::TensorView& view,
                                    RecordedSlot& slot) {
  slot.owns_file = rules_.needs.file;
  const std::uint64_t content = check_read(operand, slot);
  if (rules_.holds) {
    slot.job = hold_job(operand, view, slot.address);
  } else if (content == 0 || !reuse_) {
    examine(operand, view, slot);
  } else {
    const auto key = ReuseKey::make(content, view, rules_.order_matters);
    if (auto known = reuse_->find(key, slot.address.step)) {
      slot.owns_file = false;
      slot.job = std::move(known->job);
      slot.statistics = known->statistics;
      return;
    }
    examine(operand, view, slot);
    reuse_->add(key, {slot.job, slot.statistics}, slot.address.step);
  }
}

// An input is often let go of while the operator runs. Nothing is copied: what the operator overwrites is
// lost.
void CallRecorder::keep_inputs(Call& call, std::span<const Operand> inputs) const {
  call.may_ask = call.op->may_ask.load(std::memory_order_relaxed);
  for (const Operand& input : inputs)
    if (options_.lender.lends(input.owner) && rules_.reason_not_to_dump(input).empty())
      call.kept.push_back({input, options_.lender.borrow(input.owner)});
}

void CallRecorder::look_for_alarm(Call& call, std::span<const Operand> outputs) {
  const FlightRecorder::Seen seen = flight_->look(call);
  if (seen.keeps_tensors) write_tensors(call, outputs);
  call.kept.clear();
  if (seen.alarm) writer_.raise(*seen.alarm);
}

// Of an execution that made a NaN or an infinity: all of its tensors but those that it has overwritten.
void CallRecorder::write_tensors(const Call& call, std::span<const Operand> outputs) {
  for (const KeptInput& input : call.kept)
    if (std::ranges::find(outputs, input.operand.owner, &Operand::owner) == outputs.end())
      write_tensor(call, model::Side::input, input.operand);
  for (const Operand& output : outputs)
    if (rules_.reason_not_to_dump(output).empty()) write_tensor(call, model::Side::output, output);
}

void CallRecorder::write_tensor(const Call& call, model::Side side, const Operand& operand) {
  for (const RecordedSlot& slot : call.slots) {
    if (slot.address.side != side || slot.address.index != operand.index) continue;
    if (auto written = writer_.scheme().write_tensor(slot.address, operand.view); !written)
      writer_.stop(written.error(), call.describe(), 0);
    else
      writer_.count_tensor(slot.data_bytes);
  }
}

// The content number by which the bytes are known, after a look at them if that was asked for.
std::uint64_t CallRecorder::check_read(const Operand& operand, const RecordedSlot& slot) {
  if (!read_check_ || operand.content == 0 || operand.is_late) return operand.content;
  const dump::SlotAddress& address = slot.address;
  const auto answer = read_check_->look(*address.op, address.side, operand, address.step);
  if (answer.line && changed_count_.fetch_add(1) < kMaxChanges)
    writer_.warn("step " + std::to_string(address.step) + ": " + *answer.line);
  return answer.content;
}

void CallRecorder::examine(const Operand& operand, const model::TensorView& view, RecordedSlot& slot) {
  if (rules_.order_matters || slot.data_bytes > kSmallBytes || operand.is_late)
    slot.job = make_job(operand, view, slot.address);
  else
    slot.statistics = math::finish(math::partial_stats(view, rules_.needs.statistics));
}

std::shared_ptr<Job> CallRecorder::make_job(const Operand& operand, const model::TensorView& view,
                                            const dump::SlotAddress& address) {
  auto job = std::make_shared<Job>(view, rules_.needs, address, &writer_.scheme());
  if (job->is_done()) return job;
  // A block without a number cannot be asked for by before_write(). Nothing is written to late ones.
  if (operand.is_late && !flight_) {
    pipeline_.submit_borrowed(job, options_.lender.borrow(operand.owner, true), 0);
    return job;
  }
  const bool is_lent =
      job->data_bytes() > (rules_.needs.file ? kCopiedBytes : kSmallBytes) && may_lend(operand) && !flight_;
  if (is_lent) {
    pipeline_.submit_borrowed(job, options_.lender.borrow(operand.owner), operand.content);
  } else if (rules_.needs.file) {
    pipeline_.submit_copied(job);
  } else {
    pipeline_.run_now(job);
  }
  return job;
}

// Where reads are checked, a file has the bytes that were checked, not those of a moment later.
bool CallRecorder::may_lend(const Operand& operand) const {
  return operand.content != 0 && !read_check_ && options_.lender.lends(operand.owner);
}

std::shared_ptr<Job> CallRecorder::hold_job(const Operand& operand, const model::TensorView& view,
                                            const dump::SlotAddress& address) {
  auto job = std::make_shared<Job>(view, rules_.needs, address, &writer_.scheme());
  const bool is_lent = may_lend(operand);
  pipeline_.hold(job, is_lent ? options_.lender.borrow(operand.owner) : KeepAlive(),
                 is_lent ? operand.content : 0);
  return job;
}

// All tensors of the call are held. A receiver of the files gets them in the order of execution. A watcher
// looks for writes that nobody announces; they must not reach the files of operators before them.
void CallRecorder::submit_container(Call& call) {
  std::vector<std::shared_ptr<Job>> members;
  for (RecordedSlot& slot : call.slots) members.push_back(std::move(slot.job));
  call.container = std::make_shared<Job>(std::move(members), &writer_.scheme());
  pipeline_.submit_container(call.container);
  if (options_.waits_for_files || watcher_) pipeline_.wait_all();
}

void CallRecorder::record_parameter(const DefinedOperator& op, const Operand& operand,
                                    std::int64_t graph_id) {
  Operand data = operand;
  data.index = 0;
  data.content = 0;  // it is read now, before the program goes on
  CallPointer call = writer_.calls().make();
  call->op = &op;
  call->step = state_.step_number();
  call->graph_id = graph_id;
  record_side(*call, model::Side::output, {&data, 1});
  if (rules_.holds) submit_held(*call);  // no operator decides whether it matters
  queue(std::move(call));
}

void CallRecorder::watch(const Call& call, std::span<const Operand> outputs) {
  const model::Operator& op = call.op->op;
  for (const std::string& sentence : watcher_->check(op, outputs))
    writer_.warn("step " + std::to_string(call.step) + ": " + sentence);
  const auto& choice = call.op->choice;
  if (choice.watched && watcher_->keep(op, call.graph_id, outputs, options_.lender) > 0)
    writer_.report_unseen("outputs that are watched", "the engine's memory cannot be kept as it is");
  if (!choice.watches || state_.stopped) return;
  for (const Watcher::Again& again : watcher_->look_again(op, call.graph_id, call.step, now_us()))
    if (!writer_.write_now(again.members, call.describe())) return;
}

}  // namespace opdump::capture
