#include "capture/session.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "base/version.h"
#include "capture/call.h"
#include "capture/clock.h"
#include "dump/rank_tree.h"
#include "dump/run_metadata.h"
#include "math/strided_copy.h"

namespace opdump::capture {
namespace {

// Up to this size statistics are taken on the calling thread, while the tensor is in its cache: handing it
// over costs more (bench/torch_overhead.py, transformer: 1.28 x with 32 KiB, 1.21 x with 1 MiB).
constexpr std::uint64_t kSmallBytes = 1024 * 1024;
// Up to this size a tensor that goes to a file is copied: lending it would cost more.
constexpr std::uint64_t kCopiedBytes = 32 * 1024;
// Below this size its statistics are taken faster than known ones are found.
constexpr std::uint64_t kTinyBytes = 8 * 1024;
// Calls whose rows wait for a slow tensor before them; each is about a kilobyte.
constexpr std::size_t kMaxWaitingCalls = 32 * 1024;

JobNeeds needs_of(const plan::DumpPlan& plan) {
  JobNeeds needs;
  needs.file = plan.content != plan::Content::statistics;
  if (plan.content == plan::Content::tensor) return needs;
  for (const plan::Statistic statistic : plan.statistics) {
    switch (statistic) {
      case plan::Statistic::max:
      case plan::Statistic::min:
        needs.statistics.extremes = true;
        break;
      case plan::Statistic::avg:
        needs.statistics.sum = true;
        break;
      case plan::Statistic::l2norm:
        needs.statistics.squares = true;
        break;
      case plan::Statistic::md5:
        needs.md5 = true;
        break;
      default:
        needs.statistics.counts = true;
    }
  }
  return needs;
}

// Whether hard links work there. Some network and FAT file systems refuse them.
bool links_work(const std::filesystem::path& directory) {
  const std::filesystem::path status = directory / dump::kOperatorLogName;
  const std::filesystem::path probe = directory / (".link" + std::to_string(::getpid()));
  if (::link(status.c_str(), probe.c_str()) != 0) return false;
  ::unlink(probe.c_str());
  return true;
}

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

}  // namespace

std::size_t Session::OperatorHash::operator()(const OperatorKey& key) const {
  return std::hash<std::string_view>()(key.name) ^
         static_cast<std::size_t>(key.graph_id) * 0x9E3779B97F4A7C15u;
}

Result<std::unique_ptr<Session>> Session::open(plan::DumpPlan plan, SessionOptions options) {
  OPDUMP_CHECK_OK(plan::check_recordable(plan));
  std::vector<std::string> columns;
  if (plan.content != plan::Content::tensor)
    for (const plan::Statistic statistic : plan.statistics)
      columns.emplace_back(plan::statistic_table()[static_cast<std::size_t>(statistic)].column);
  dump::RankTreeOptions tree{plan.root, plan.net_name, options.rank, std::move(columns),
                             plan.class_name_dtypes};
  OPDUMP_TRY(auto layout, dump::open_rank_tree(std::move(tree)));
  OPDUMP_TRY(auto log_writer, dump::OperatorLogWriter::open(dump::rank_directory(plan.root, options.rank)));
  if (options.threads == 0) {
    // Threads that write files mostly wait for the disk; threads that compute take cores from the program.
    const unsigned cores = std::thread::hardware_concurrency();
    options.threads = std::clamp(plan.content == plan::Content::statistics ? cores / 2 : cores, 1u, 4u);
  }
  std::unique_ptr<Session> session(
      new Session(std::move(plan), std::move(options), std::move(layout), std::move(log_writer)));
  OPDUMP_CHECK_OK(session->write_first_files());
  for (const std::string& warning : session->status_.warnings) session->say(LogLevel::warning, warning);
  session->set_step(0);
  return session;
}

Result<> Session::write_first_files() {
  OPDUMP_CHECK_OK(dump::write_status(rank_directory_, status_));
  if (plan_.run_metadata)
    OPDUMP_CHECK_OK(dump::write_run_metadata(rank_directory_, plan_.config_text,
                                             plan_.class_name_dtypes ? "CPU" : "GPU"));
  if (!needs_.file || links_work(rank_directory_)) reuse_ = std::make_unique<ReuseTable>(needs_.file);
  return ok();
}

Session::Session(plan::DumpPlan plan, SessionOptions options, std::unique_ptr<dump::Layout> layout,
                 dump::OperatorLogWriter log_writer)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      needs_(needs_of(plan_)),
      rank_directory_(dump::rank_directory(plan_.root, options_.rank)),
      layout_(std::move(layout)),
      selector_(std::move(plan_.operators)),
      log_writer_(std::move(log_writer)) {
  if (!needs_.file && !needs_.md5) inline_bytes_ = kTinyBytes;
  status_.opdump_version = kVersion;
  status_.process = options_.process;
  status_.runtime = options_.runtime;
  status_.config_path = plan_.config_path.string();
  status_.pid = ::getpid();
  status_.started_us = now_us();
  status_.warnings = plan_.warnings;
  if (plan_.operator_arguments)
    status_.warnings.push_back("arguments of operators (save_kernel_args) cannot be recorded yet");
  if (plan_.parameters)
    status_.warnings.push_back(
        "weights and inputs of the graph (Parameter files) cannot be recorded yet; the operators that read "
        "them are");
  const auto& devices = plan_.devices;
  if (!devices.empty() && std::ranges::find(devices, options_.device_id) == devices.end()) {
    is_excluded_ = stopped_ = true;
    status_.warnings.push_back("device " + std::to_string(options_.device_id) +
                               " is not in support_device: nothing is dumped here");
  }
  pipeline_ = std::make_unique<Pipeline>(options_.threads, options_.memory_limit_bytes, [this] { drain(); });
}

Session::~Session() { pipeline_.reset(); }

bool Session::selects_step(std::int64_t step) const {
  return !stopped_ && step >= 0 &&
         plan_.steps.contains(plan_.initial_step + static_cast<std::uint64_t>(step));
}

bool Session::set_step(std::int64_t step) {
  const bool selected = selects_step(step);
  recording_ = selected;
  if (stopped_) recording_ = false;  // by another thread, just now
  if (step_.exchange(step) != step && reuse_) reuse_->begin_step();
  if (!selected) pipeline_->before_any_write();  // the engine may unhook itself now and not see writes
  return selected;
}

const DefinedOperator* Session::define(model::Operator op) {
  const std::lock_guard lock(operators_mutex_);
  if (const auto known = operators_.find({op.graph_id, op.name}); known != operators_.end())
    return known->second.get();
  auto defined = std::make_unique<DefinedOperator>();
  defined->op = std::move(op);
  defined->selected = selector_.wants(defined->op.name);
  defined->op.task = operators_.size();
  const DefinedOperator* const result = defined.get();
  operators_.emplace(OperatorKey{result->op.graph_id, result->op.name}, std::move(defined));
  if (result->selected && !stopped_) {
    log_writer_.add(result->op);
    log_dirty_ = true;
  }
  return result;
}

Call* Session::begin(const DefinedOperator* op, std::span<const Operand> inputs) {
  if (!wants(op)) return nullptr;
  auto call = std::make_unique<Call>();
  call->op = op;
  call->step = step_ + static_cast<std::int64_t>(plan_.initial_step);
  if (plan_.sides == plan::Sides::outputs) return call.release();
  call->slots.reserve(inputs.size() + 2);
  const std::uint64_t timestamp_us = next_moment(*op);
  for (const Operand& operand : inputs) take(*call, model::Side::input, operand, timestamp_us);
  return call.release();
}

void Session::end(Call* raw, std::span<const Operand> outputs, bool failed) {
  std::unique_ptr<Call> call(raw);
  if (!call) return;
  if (!failed && plan_.sides != plan::Sides::inputs) {
    const std::uint64_t timestamp_us = next_moment(*call->op);
    for (const Operand& operand : outputs) take(*call, model::Side::output, operand, timestamp_us);
  }
  call_count_.fetch_add(1, std::memory_order_relaxed);
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
  if (!needs_.file && !math::has_statistics(dtype.dtype)) return "dtype has no statistics";
  return {};
}

void Session::take(Call& call, model::Side side, const Operand& operand, std::uint64_t timestamp_us) {
  if (const auto reason = reason_not_to_dump(operand); !reason.empty())
    return note_undumped(call, side, operand, reason);
  RecordedSlot& slot = call.slots.emplace_back();
  slot.address = {&call.op->op, call.op->op.graph_id, call.step, timestamp_us, side, operand.index};
  slot.dtype = operand.view.dtype;
  const model::TensorView* view = &operand.view;
  model::TensorView in_memory_order;
  if (!plan_.default_format && view->is_channels_last()) {
    view = &(in_memory_order = view->in_memory_order());
    slot.address.format = "NHWC";
  }
  if (plan_.sample_count > 0 && view->element_count() > plan_.sample_count)
    return take_sample(slot, operand, *view);
  slot.shape = view->shape;
  slot.data_bytes = view->byte_count();
  if (slot.data_bytes <= inline_bytes_)
    slot.statistics = math::finish(math::partial_stats(*view, needs_.statistics));
  else
    slot.job = find_or_make_job(operand, *view, slot);
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
  slot.data_bytes = first.byte_count();
  slot.job = find_or_make_job(sample, first, slot);
}

std::shared_ptr<Job> Session::find_or_make_job(const Operand& operand, const model::TensorView& view,
                                               RecordedSlot& slot) {
  if (operand.content == 0 || !reuse_) {
    slot.owns_file = needs_.file;
    return make_job(operand, view, slot.address);
  }
  ReuseKey key{operand.content, view.data, view.dtype, view.shape, view.strides};
  if (auto known = reuse_->find(key, slot.address.step)) return known;
  slot.owns_file = needs_.file;
  auto job = make_job(operand, view, slot.address);
  reuse_->add(std::move(key), job, slot.address.step);
  return job;
}

std::shared_ptr<Job> Session::make_job(const Operand& operand, const model::TensorView& view,
                                       const dump::SlotAddress& address) {
  auto job = std::make_shared<Job>(view, needs_, address, layout_.get());
  if (job->is_done()) return job;
  const bool is_small = job->data_bytes() <= (needs_.file ? kCopiedBytes : kSmallBytes);
  // A block without a number cannot be asked for by before_write().
  if (!is_small && operand.owner && operand.content != 0 && options_.retain) {
    options_.retain(operand.owner);
    pipeline_->submit_borrowed(job, KeepAlive(operand.owner, options_.release), operand.content);
  } else if (needs_.file) {
    pipeline_->submit_copied(job);
  } else if (is_small) {
    for (int task; (task = job->claim()) >= 0;) job->run(task);
  } else {
    pipeline_->run_now(job);
  }
  return job;
}

}  // namespace opdump::capture
