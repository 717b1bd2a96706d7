// The taking half of a session: tensors of a call become jobs.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "capture/call.h"
#include "capture/clock.h"
#include "capture/session.h"
#include "math/layout/strided_copy.h"

namespace opdump::capture {
namespace {

// Up to this size statistics are taken on the calling thread, while the tensor is in its cache: handing it
// over costs more (bench/torch_overhead.py, transformer: 1.28 x with 32 KiB, 1.21 x with 1 MiB).
constexpr std::uint64_t kSmallBytes = 1024 * 1024;
// Up to this size a tensor that goes to a file is copied: lending it would cost more.
constexpr std::uint64_t kCopiedBytes = 32 * 1024;
// Calls whose rows wait for a slow tensor before them; each is about a kilobyte.
constexpr std::size_t kMaxWaitingCalls = 32 * 1024;

// Now, but never the same twice for one operator: its files are told apart by it.
std::uint64_t next_moment(const DefinedOperator& op) {
  const std::uint64_t now = now_us();
  std::uint64_t last = op.last_us.load(std::memory_order_relaxed), next = 0;
  do next = std::max(now, last + 1);
  while (!op.last_us.compare_exchange_weak(last, next, std::memory_order_relaxed));
  return next;
}

// The first `count` elements, row by row, of a view that does not hold them together.
std::vector<std::byte> first_elements(model::TensorView view, std::uint64_t count) {
  // No more than is needed: fewer than twice as many elements are copied.
  std::vector<std::int64_t> dims(view.shape.dims().begin(), view.shape.dims().end());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    std::uint64_t inner = 1;
    for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<std::uint64_t>(dims[i]);
    const std::uint64_t rows = (count + inner - 1) / inner;
    dims[axis] = std::min(dims[axis], static_cast<std::int64_t>(rows));
    if (rows > 1) break;
  }
  view.shape = model::Shape(std::span<const std::int64_t>(dims));
  std::vector<std::byte> bytes(view.byte_count());
  math::copy_row_major(view, bytes);
  return bytes;
}

// The dtypes that can overflow; integers wrap around and say nothing.
bool can_overflow(model::DType dtype) {
  return model::dtype_info(dtype).kind == model::DTypeKind::floating && math::has_statistics(dtype);
}

// Complex numbers as the pairs of reals that they are; other tensors as they are.
model::TensorView as_reals(model::TensorView view) {
  if (view.dtype != model::DType::complex64 && view.dtype != model::DType::complex128) return view;
  view.dtype = view.dtype == model::DType::complex64 ? model::DType::float32 : model::DType::float64;
  std::vector<std::int64_t> dims(view.shape.dims().begin(), view.shape.dims().end());
  std::vector<std::int64_t> strides(view.strides.dims().begin(), view.strides.dims().end());
  for (std::int64_t& stride : strides) stride *= 2;
  dims.push_back(2);
  strides.push_back(1);
  view.shape = model::Shape(std::span<const std::int64_t>(dims));
  view.strides = model::Shape(std::span<const std::int64_t>(strides));
  return view;
}

bool is_non_finite(const math::Statistics& statistics) {  // extremes are NaN if one element is
  return !std::isfinite(statistics.max) || !std::isfinite(statistics.min);
}

bool is_non_finite(const model::Argument& argument) {
  if (const auto* number = std::get_if<double>(&argument.value)) return !std::isfinite(*number);
  const auto* items = std::get_if<model::Argument::List>(&argument.value);
  return items && std::ranges::any_of(*items, [](const auto& item) { return is_non_finite(item); });
}

// An NCDHW tensor that lies as NDHWC, seen so; any other as it is.
model::TensorView volumes_in_memory_order(const model::TensorView& view) {
  if (view.shape.rank() != 5 || view.is_contiguous()) return view;
  model::TensorView last = view;
  for (model::Shape* sizes : {&last.shape, &last.strides}) {
    const auto dims = sizes->dims();
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  }
  return last.is_contiguous() ? last : view;
}

bool starts_with_nan(const model::TensorView& view) {
  const auto first = model::TensorView::row_major(view.dtype, {}, view.data);
  return math::partial_stats(first, {.extremes = true}).has_nan;
}

constexpr std::size_t kMaxFreeCalls = 256;

}  // namespace

Session::CallPointer Session::fresh_call() {
  std::unique_ptr<Call> call;
  {
    const std::lock_guard lock(calls_mutex_);
    if (!free_calls_.empty()) {
      call = std::move(free_calls_.back());
      free_calls_.pop_back();
    }
  }
  if (!call) call = std::make_unique<Call>();
  return {call.release(), GiveBack{this}};
}

void Session::give_back(Call* raw) {
  std::unique_ptr<Call> call(raw);
  call->slots.clear();
  call->undumped.clear();
  call->inputs.clear();
  call->outputs.clear();
  call->arguments.clear();
  call->is_noted = false;
  call->overflowed.reset();
  call->container.reset();
  call->detail = {};
  call->reads_non_finite = false;
  const std::lock_guard lock(calls_mutex_);
  if (free_calls_.size() < kMaxFreeCalls) free_calls_.push_back(std::move(call));
}

Call* Session::begin(const DefinedOperator* op, std::span<const Operand> inputs) {
  if (!wants(op).call) return nullptr;
  if (resting_.load(std::memory_order_relaxed)) wake();
  if (model_graphs_) enter_model(op->op.graph_id);
  CallPointer call = fresh_call();
  call->op = op;
  note_place(*call);
  if (watcher_) watcher_->note_begin();
  call->takes_data = op->selected.load(std::memory_order_relaxed);
  call->is_first = recorder() && !op->is_in_graph.load(std::memory_order_relaxed);
  if (recorder())
    for (const Operand& input : inputs) call->inputs.push_back(to_graph_tensor(input));
  if (keeps_parameters()) note_parameters(inputs, model::Side::input);
  if (!call->takes_data) return call.release();
  if (plan_.debug == plan::DebugMode::overflow)
    call->reads_non_finite = std::ranges::any_of(inputs, [&](const auto& input) { return overflows(input); });
  if (plan_.sides != plan::Sides::outputs && !call->reads_non_finite)
    take_side(*call, model::Side::input, inputs);
  return call.release();
}

// The step and the graph that its files go to until it ends, both of one moment: another thread may end it.
void Session::note_place(Call& call) {
  std::int64_t step = step_;
  do {
    call.step = step;
    call.graph_id = tells_models_ ? graph_->expected_graph() : call.op->op.graph_id;
    step = step_;
  } while (step != call.step);
  call.step += static_cast<std::int64_t>(plan_.initial_step);
}

void Session::set_arguments(Call& call, std::vector<model::Argument> arguments,
                            std::vector<model::Body> bodies) {
  if (plan_.debug == plan::DebugMode::overflow && !call.reads_non_finite)
    call.reads_non_finite =
        std::ranges::any_of(arguments, [](const auto& argument) { return is_non_finite(argument); });
  if (call.is_first) call.detail = {arguments, std::move(bodies)};
  if (plan_.operator_arguments && call.takes_data) call.arguments = std::move(arguments);
}

void Session::returned(Call& call, std::span<const Operand> outputs) {
  if (recorder()) note_graph(call, outputs);
}

void Session::end(Call* raw, std::span<const Operand> outputs, bool failed) {
  CallPointer call(raw, GiveBack{this});
  if (!call) return;
  if (recorder() && !failed) note_graph(*call, outputs);
  if (keeps_parameters() && !failed) note_parameters(outputs, model::Side::output);
  if (watcher_ && !failed) watch(*call, outputs);
  if (call->takes_data) finish(std::move(call), outputs, failed);
}

// The end of a call whose data is wanted.
void Session::finish(CallPointer call, std::span<const Operand> outputs, bool failed) {
  if (holds_ && !keeps_held(*call, outputs, failed)) return drop_held(*call);
  for (const auto& [operand, reason] : call->undumped)
    note_undumped(*call, model::Side::input, operand, reason);
  if (!failed && plan_.sides != plan::Sides::inputs) take_side(*call, model::Side::output, outputs);
  if (call->slots.empty()) return;  // a view
  call_count_.fetch_add(1, std::memory_order_relaxed);
  if (scheme_->writes_calls())
    submit_container(*call);
  else if (holds_)
    submit_held(*call);
  const bool now = failed && plan_.debug == plan::DebugMode::exception;
  queue(std::move(call));
  if (now) (void)flush();  // before the error reaches the program; a failure of ours has been told
}

void Session::queue(CallPointer call) {
  std::size_t waiting = 0;
  {
    const std::lock_guard lock(calls_mutex_);
    calls_.push_back(std::move(call));
    waiting = calls_.size();
  }
  if (waiting <= kMaxWaitingCalls) return;
  pipeline_->wait_all();
  const std::lock_guard lock(drain_mutex_);
  write_ready(false);
}

// Whether a call whose inputs are held is one that the plan looks for.
bool Session::keeps_held(Call& call, std::span<const Operand> outputs, bool failed) {
  switch (plan_.debug) {
    case plan::DebugMode::none:
      return true;
    case plan::DebugMode::exception:
      return failed;
    case plan::DebugMode::overflow:
      break;
  }
  // Who passes on what it was given -- a mask with infinities, the overflow of another operator -- made
  // nothing.
  if (failed || call.reads_non_finite || !(call.overflowed = find_overflow(outputs))) return false;
  const std::uint64_t number = overflow_count_.fetch_add(1) + 1;
  return plan_.overflow_limit == 0 || number <= plan_.overflow_limit;
}

std::optional<std::uint32_t> Session::find_overflow(std::span<const Operand> outputs) {
  for (const Operand& output : outputs)
    if (overflows(output)) return output.index;
  return std::nullopt;
}

// Whether an element is infinite or not a number. What one operator wrote and others read is looked at once.
bool Session::overflows(const Operand& operand) {
  if (!reason_not_to_dump(operand).empty()) return false;
  const model::TensorView view = as_reals(operand.view);
  if (!can_overflow(view.dtype)) return false;
  const auto key = ReuseKey::make(operand.content, view, false);
  if (operand.content != 0)
    if (const auto known = overflows_.find(key, step_)) return is_non_finite(known->statistics);
  const JobNeeds needs{.statistics = {.extremes = true}};
  math::Statistics found;
  if (view.byte_count() <= kSmallBytes) {
    found = math::finish(math::partial_stats(view, needs.statistics));
  } else {
    const auto job = std::make_shared<Job>(view, needs, dump::SlotAddress{}, nullptr);
    pipeline_->run_now(job);
    found = job->statistics();
  }
  if (operand.content != 0) overflows_.add(key, {nullptr, found}, step_);
  return is_non_finite(found);
}

void Session::drop_held(Call& call) {
  for (RecordedSlot& slot : call.slots)
    if (slot.job) pipeline_->drop_held(slot.job);
}

void Session::submit_held(Call& call) {
  for (RecordedSlot& slot : call.slots)
    if (slot.job) pipeline_->submit_held(slot.job);
}

void Session::note_undumped(const Call& call, model::Side side, const Operand& operand,
                            std::string_view reason) {
  const std::uint32_t number = operand.index * 2 + static_cast<std::uint32_t>(side);
  const std::uint64_t bit = number < 64 ? std::uint64_t{1} << number : 0;
  if (stopped_ || (call.op->undumped_bits.load(std::memory_order_relaxed) & bit) != 0) return;
  const std::lock_guard lock(operators_mutex_);
  if (bit != 0 ? (call.op->undumped_bits.fetch_or(bit) & bit) != 0 : !call.op->undumped.insert(number).second)
    return;
  log_writer_.add(dump::UndumpedSlot{call.op->op.name, call.op->op.graph_id, call.step, side, operand.index,
                                     operand.view.dtype, operand.view.shape, std::string(reason)});
  log_dirty_ = true;
}

// Why there will be no trace of a tensor; empty if there will be one.
std::string_view Session::reason_not_to_dump(const Operand& operand) const {
  if (!operand.undumped.empty()) return operand.undumped;
  if (operand.view.element_count() == 0) return "empty";
  if (operand.view.data == nullptr) return "no data";
  const model::DTypeInfo& dtype = model::dtype_info(operand.view.dtype);
  if (dtype.bits == 0 || (dtype.kind == model::DTypeKind::floating && dtype.bits == 8))
    return "dtype cannot be stored";
  if (!needs_.file && !math::has_statistics(dtype.dtype) && !scheme_->lists_all_tensors())
    return "dtype has no statistics";
  return {};
}

void Session::take_side(Call& call, model::Side side, std::span<const Operand> operands) {
  // Where an execution is one file, it has one time.
  const bool has_time = plan_.scheme == plan::SchemeKind::acl_tree && !call.slots.empty();
  const std::uint64_t timestamp_us =
      has_time ? call.slots.front().address.timestamp_us : next_moment(*call.op);
  if (!call.op->choice.excluded.empty()) return take_without_excluded(call, side, operands, timestamp_us);
  for (const Operand& operand : operands) take(call, side, operand, timestamp_us);
}

// Those that follow an excluded tensor move up.
void Session::take_without_excluded(Call& call, model::Side side, std::span<const Operand> operands,
                                    std::uint64_t timestamp_us) {
  const auto& excluded = call.op->choice.excluded;
  for (const Operand& operand : operands) {
    if (std::ranges::find(excluded, plan::SlotPosition{side, operand.index}) != excluded.end()) continue;
    Operand moved = operand;
    moved.index -= static_cast<std::uint32_t>(std::ranges::count_if(
        excluded, [&](plan::SlotPosition slot) { return slot.side == side && slot.index < operand.index; }));
    take(call, side, moved, timestamp_us);
  }
}

void Session::take(Call& call, model::Side side, const Operand& operand, std::uint64_t timestamp_us) {
  if (const auto reason = reason_not_to_dump(operand); !reason.empty()) {
    if (plan_.debug == plan::DebugMode::none || side == model::Side::output)
      return note_undumped(call, side, operand, reason);
    call.undumped.emplace_back(operand, reason);
    return;
  }
  RecordedSlot& slot = call.slots.emplace_back();
  slot.address = {&call.op->op, call.graph_id, call.step, timestamp_us, side, operand.index};
  if (!operand.format.empty()) slot.address.format = operand.format;
  slot.address.original_shape = operand.original_shape;
  slot.dtype = operand.view.dtype;
  const model::TensorView* view = &operand.view;
  model::TensorView in_memory_order;
  if (!plan_.default_format && view->is_channels_last()) {
    view = &(in_memory_order = view->in_memory_order());
    slot.address.format = "NHWC";
  } else if (!plan_.default_format) {
    in_memory_order = volumes_in_memory_order(*view);
    if (in_memory_order.is_contiguous() && !view->is_contiguous()) {
      view = &in_memory_order;
      slot.address.format = "NDHWC";
    }
  }
  if (plan_.sample_count > 0 && view->element_count() > plan_.sample_count)
    return take_sample(slot, operand, *view);
  slot.shape = view->shape;
  slot.data_bytes = view->byte_count();
  if (scheme_->lists_all_tensors() && can_overflow(view->dtype)) slot.first_is_nan = starts_with_nan(*view);
  model::TensorView flat;
  if (!order_matters_ && !view->is_contiguous() && view->is_dense())
    view = &(flat = model::TensorView::row_major(
                 view->dtype, {static_cast<std::int64_t>(view->element_count())}, view->data));
  if (!needs_.file && !math::has_statistics(slot.dtype)) return;
  if (slot.data_bytes <= inline_bytes_)
    slot.statistics = math::finish(math::partial_stats(*view, needs_.statistics));
  else
    find_or_look(operand, *view, slot);
}

void Session::take_sample(RecordedSlot& slot, const Operand& operand, const model::TensorView& view) {
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
  find_or_look(sample, first, slot);
}

// Takes what is known of the bytes, or looks at them.
void Session::find_or_look(const Operand& operand, const model::TensorView& view, RecordedSlot& slot) {
  slot.owns_file = needs_.file;
  if (holds_) {
    slot.job = hold_job(operand, view, slot.address);
  } else if (operand.content == 0 || !reuse_) {
    look(operand, view, slot);
  } else {
    const auto key = ReuseKey::make(operand.content, view, order_matters_);
    if (auto known = reuse_->find(key, slot.address.step)) {
      slot.owns_file = false;
      slot.job = std::move(known->job);
      slot.statistics = known->statistics;
      return;
    }
    look(operand, view, slot);
    reuse_->add(key, {slot.job, slot.statistics}, slot.address.step);
  }
}

void Session::look(const Operand& operand, const model::TensorView& view, RecordedSlot& slot) {
  if (order_matters_ || slot.data_bytes > kSmallBytes)
    slot.job = make_job(operand, view, slot.address);
  else
    slot.statistics = math::finish(math::partial_stats(view, needs_.statistics));
}

std::shared_ptr<Job> Session::make_job(const Operand& operand, const model::TensorView& view,
                                       const dump::SlotAddress& address) {
  auto job = std::make_shared<Job>(view, needs_, address, scheme_.get());
  if (job->is_done()) return job;
  // A block without a number cannot be asked for by before_write().
  const bool is_lent = job->data_bytes() > (needs_.file ? kCopiedBytes : kSmallBytes) && operand.owner &&
                       operand.content != 0 && options_.retain;
  if (is_lent) {
    options_.retain(operand.owner);
    pipeline_->submit_borrowed(job, KeepAlive(operand.owner, options_.release), operand.content);
  } else if (needs_.file) {
    pipeline_->submit_copied(job);
  } else {
    pipeline_->run_now(job);
  }
  return job;
}

std::shared_ptr<Job> Session::hold_job(const Operand& operand, const model::TensorView& view,
                                       const dump::SlotAddress& address) {
  auto job = std::make_shared<Job>(view, needs_, address, scheme_.get());
  const bool is_lent = operand.owner && operand.content != 0 && options_.retain;
  if (is_lent) options_.retain(operand.owner);
  pipeline_->hold(job, is_lent ? KeepAlive(operand.owner, options_.release) : KeepAlive(),
                  is_lent ? operand.content : 0);
  return job;
}

// All tensors of the call are held. Whoever takes the files takes them in the order of execution; and a
// watcher looks for writes that nobody announces, which must not reach the files of operators before them.
void Session::submit_container(Call& call) {
  std::vector<std::shared_ptr<Job>> members;
  for (RecordedSlot& slot : call.slots) members.push_back(std::move(slot.job));
  call.container = std::make_shared<Job>(std::move(members), scheme_.get());
  pipeline_->submit_container(call.container);
  if (options_.write_file || watcher_) pipeline_->wait_all();
}

}  // namespace opdump::capture
