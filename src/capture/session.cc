#include "capture/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "dump/rank_tree.h"

namespace opdump::capture {
namespace {

// Below this size a tensor is dealt with on the spot: handing it over would cost more.
constexpr std::uint64_t kInlineBytes = 32 * 1024;
// Calls whose rows wait for a slow tensor before them; each is about a kilobyte.
constexpr std::size_t kMaxWaitingCalls = 32 * 1024;
constexpr std::uint64_t kFlushPeriodUs = 500'000;
// Hard links per file; ext4 allows 65000.
constexpr unsigned kMaxLinks = 10'000;

std::uint64_t now_us() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<microseconds>(system_clock::now().time_since_epoch()).count());
}

JobNeeds needs_of(const plan::DumpPlan& plan) {
  JobNeeds needs;
  needs.file = plan.content != plan::Content::statistics;
  if (plan.content == plan::Content::tensor) return needs;
  for (const plan::Statistic statistic : plan.statistics) {
    switch (statistic) {
      case plan::Statistic::max:
      case plan::Statistic::min: needs.statistics.extremes = true; break;
      case plan::Statistic::avg: needs.statistics.sum = true; break;
      case plan::Statistic::l2norm: needs.statistics.squares = true; break;
      case plan::Statistic::md5: needs.md5 = true; break;
      default: needs.statistics.counts = true;
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

Result<> check_supported(const plan::DumpPlan& plan) {
  if (plan.layout != plan::Layout::rank_tree)
    return Error(Code::config, plan.config_path.string() +
                                   ": the offline-model layout (no e2e_dump_settings) cannot be recorded yet; add "
                                   "\"e2e_dump_settings\": {\"enable\": true} or choose --mode o0");
  if (plan.debug != plan::DebugMode::none)
    return Error(Code::config, plan.config_path.string() + ": op_debug_mode other than 0 cannot be recorded yet");
  if (plan.only_flagged_operators)
    return Error(Code::config, plan.config_path.string() + ": dump_mode 2 (set_dump) cannot be recorded yet; use 0 or 1");
  return ok();
}

struct ReuseKey {
  std::uint64_t content;
  const std::byte* data;
  model::DType dtype;
  model::Shape shape, strides;
  bool operator==(const ReuseKey&) const = default;
};

struct ReuseHash {
  std::size_t operator()(const ReuseKey& key) const {
    std::uint64_t h = key.content * 0x9E3779B97F4A7C15u ^ reinterpret_cast<std::uintptr_t>(key.data);
    for (const std::int64_t dim : key.shape.dims()) h = (h ^ static_cast<std::uint64_t>(dim)) * 0x100000001B3u;
    for (const std::int64_t stride : key.strides.dims()) h = (h ^ static_cast<std::uint64_t>(stride)) * 0x100000001B3u;
    return h ^ h >> 29;
  }
};

}  // namespace

struct RecordedSlot {
  dump::SlotAddress address;
  model::DType dtype;
  model::Shape shape;
  std::shared_ptr<Job> job;
  bool owns_file = false;  // the job writes this slot's file; other slots link to it
};

struct Call {
  const DefinedOperator* op;
  std::int64_t step;
  std::vector<RecordedSlot> slots;
  bool is_done() const {
    return std::ranges::all_of(slots, [](const RecordedSlot& slot) { return slot.job->is_done(); });
  }
};

// Jobs by the bytes they looked at. Content numbers are never used twice, so an entry can only become useless, not wrong.
struct Session::Reuse {
  struct Entry {
    std::shared_ptr<Job> job;
    std::int64_t step;
    unsigned uses = 0;
  };
  std::unordered_map<ReuseKey, Entry, ReuseHash> jobs;
};

Result<std::unique_ptr<Session>> Session::open(plan::DumpPlan plan, SessionOptions options) {
  OPDUMP_CHECK_OK(check_supported(plan));
  std::vector<std::string> columns;
  if (plan.content != plan::Content::tensor)
    for (const plan::Statistic statistic : plan.statistics)
      columns.emplace_back(plan::statistic_table()[static_cast<std::size_t>(statistic)].column);
  dump::RankTreeOptions tree{plan.root, plan.net_name, options.rank, std::move(columns), false};
  OPDUMP_TRY(auto layout, dump::open_rank_tree(std::move(tree)));
  OPDUMP_TRY(auto log_writer, dump::OperatorLogWriter::open(dump::rank_directory(plan.root, options.rank)));
  if (options.threads == 0) options.threads = std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u);
  std::unique_ptr<Session> session(
      new Session(std::move(plan), std::move(options), std::move(layout), std::move(log_writer)));
  OPDUMP_CHECK_OK(dump::write_status(session->rank_directory_, session->status_));
  session->files_can_link_ = links_work(session->rank_directory_);
  for (const std::string& warning : session->plan_.warnings) session->say(LogLevel::warning, warning);
  session->set_step(0);
  return session;
}

Session::Session(plan::DumpPlan plan, SessionOptions options, std::unique_ptr<dump::Layout> layout,
                 dump::OperatorLogWriter log_writer)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      needs_(needs_of(plan_)),
      rank_directory_(dump::rank_directory(plan_.root, options_.rank)),
      layout_(std::move(layout)),
      selector_(std::move(plan_.operators)),
      log_writer_(std::move(log_writer)),
      reuse_(std::make_unique<Reuse>()) {
  status_.opdump_version = kVersion;
  status_.process = options_.process;
  status_.runtime = options_.runtime;
  status_.config_path = plan_.config_path.string();
  status_.pid = ::getpid();
  status_.started_us = now_us();
  status_.warnings = plan_.warnings;
  const auto& devices = plan_.devices;
  if (!devices.empty() && std::ranges::find(devices, options_.device_id) == devices.end()) {
    stopped_ = true;
    status_.warnings.push_back("device " + std::to_string(options_.device_id) +
                               " is not in support_device: nothing is dumped here");
    say(LogLevel::warning, status_.warnings.back());
  }
  pipeline_ = std::make_unique<Pipeline>(options_.threads, options_.memory_limit_bytes, [this] { drain(); });
}

Session::~Session() { pipeline_.reset(); }

bool Session::selects_step(std::int64_t step) const {
  return !stopped_ && step >= 0 && plan_.steps.contains(plan_.initial_step + static_cast<std::uint64_t>(step));
}

bool Session::set_step(std::int64_t step) {
  step_ = step;
  const bool selected = selects_step(step);
  recording_ = selected;
  const std::lock_guard lock(reuse_mutex_);
  // Entries of the step before are still of use: what an optimizer wrote is what the next forward pass reads.
  std::erase_if(reuse_->jobs, [&](const auto& entry) { return entry.second.step + 1 < step; });
  return selected;
}

const DefinedOperator* Session::define(model::Operator op) {
  const std::lock_guard lock(operators_mutex_);
  auto& known = operators_[std::to_string(op.graph_id) + " " + op.name];
  if (!known) {
    known = std::make_unique<DefinedOperator>();
    known->selected = selector_.wants(op.name);
    known->op = std::move(op);
    if (known->selected && !stopped_) {
      log_writer_.add(known->op);
      log_dirty_ = true;
    }
  }
  return known.get();
}

Call* Session::begin(const DefinedOperator* op, std::span<const Operand> inputs) {
  if (!wants(op)) return nullptr;
  auto call = std::make_unique<Call>();
  call->op = op;
  call->step = step_ + static_cast<std::int64_t>(plan_.initial_step);
  call->slots.reserve(inputs.size() + 2);
  if (plan_.sides != plan::Sides::outputs)
    for (const Operand& operand : inputs) take(*call, model::Side::input, operand);
  return call.release();
}

void Session::end(Call* raw, std::span<const Operand> outputs, bool failed) {
  std::unique_ptr<Call> call(raw);
  if (!call) return;
  if (!failed && plan_.sides != plan::Sides::inputs)
    for (const Operand& operand : outputs) take(*call, model::Side::output, operand);
  call_count_.fetch_add(1, std::memory_order_relaxed);
  std::size_t waiting = 0;
  {
    const std::lock_guard lock(calls_mutex_);
    calls_.push_back(std::move(call));
    waiting = calls_.size();
  }
  if (waiting > kMaxWaitingCalls) {
    pipeline_->wait_all();
    drain();
  }
}

void Session::note_undumped(const Call& call, model::Side side, const Operand& operand, std::string_view reason) {
  const std::uint32_t key = operand.index * 2 + static_cast<std::uint32_t>(side);
  const std::lock_guard lock(operators_mutex_);
  if (stopped_ || !operators_[std::to_string(call.op->op.graph_id) + " " + call.op->op.name]->undumped.insert(key).second)
    return;
  log_writer_.add(dump::UndumpedSlot{call.op->op.name, call.op->op.graph_id, call.step, side, operand.index,
                                     operand.view.dtype, operand.view.shape, std::string(reason)});
  log_dirty_ = true;
}

void Session::take(Call& call, model::Side side, const Operand& operand) {
  if (!operand.undumped.empty()) return note_undumped(call, side, operand, operand.undumped);
  const model::DTypeInfo& dtype = model::dtype_info(operand.view.dtype);
  if (operand.view.element_count() == 0) return note_undumped(call, side, operand, "empty");
  if (operand.view.data == nullptr) return note_undumped(call, side, operand, "no data");
  if (dtype.bits == 0 || (dtype.kind == model::DTypeKind::floating && dtype.bits == 8))
    return note_undumped(call, side, operand, "dtype cannot be stored");

  RecordedSlot slot{{&call.op->op, call.step, now_us(), side, operand.index}, operand.view.dtype, {}, nullptr};
  model::TensorView view = operand.view;
  if (!plan_.default_format && view.is_channels_last()) {
    view = view.in_memory_order();
    slot.address.format = "NHWC";
  }
  if (plan_.sample_count > 0 && view.element_count() > plan_.sample_count) {
    view = view.in_memory_order();
    if (!view.is_contiguous()) return note_undumped(call, side, operand, "sample of a strided tensor");
    view = model::TensorView::row_major(view.dtype, {static_cast<std::int64_t>(plan_.sample_count)}, view.data);
  }
  slot.shape = view.shape;

  ReuseKey key{operand.content, view.data, view.dtype, view.shape, view.strides};
  if (operand.content != 0) {
    const std::lock_guard lock(reuse_mutex_);
    const auto found = reuse_->jobs.find(key);
    if (found != reuse_->jobs.end()) {
      Reuse::Entry& entry = found->second;
      // Older steps may be deleted while the program runs, so files are linked within a step only.
      if (!needs_.file || (files_can_link_ && entry.step == step_ && entry.uses < kMaxLinks)) {
        entry.step = step_;
        ++entry.uses;
        slot.job = entry.job;
      }
    }
  }
  if (!slot.job) {
    slot.owns_file = needs_.file;
    slot.job = make_job(operand, view, slot.address);
    if (operand.content != 0) {
      const std::lock_guard lock(reuse_mutex_);
      reuse_->jobs[std::move(key)] = {slot.job, step_, 0};
    }
  }
  call.slots.push_back(std::move(slot));
}

std::shared_ptr<Job> Session::make_job(const Operand& operand, const model::TensorView& view,
                                       const dump::SlotAddress& address) {
  auto job = std::make_shared<Job>(view, needs_, address, layout_.get());
  if (job->is_done()) return job;
  if (job->data_bytes() <= kInlineBytes) {
    if (needs_.file)
      pipeline_->submit_copied(job);
    else
      while (const int task = job->claim() + 1) job->run(task - 1);
  } else if (operand.owner && options_.retain) {
    options_.retain(operand.owner);
    pipeline_->submit_borrowed(job, KeepAlive(operand.owner, options_.release), operand.content);
  } else if (needs_.file) {
    pipeline_->submit_copied(job);
  } else {
    pipeline_->run_now(job);
  }
  return job;
}

// What a worker does when it has nothing else to do. One thread at a time; a second one leaves at once.
void Session::drain() {
  const std::unique_lock draining(drain_mutex_, std::try_to_lock);
  if (draining) write_ready(false);
}

// Writes the rows and links of the calls that are done, in order, and hands them to the system now and then.
void Session::write_ready(bool flush_now) {
  for (;;) {
    std::unique_ptr<Call> call;
    {
      const std::lock_guard lock(calls_mutex_);
      if (calls_.empty() || !calls_.front()->is_done()) break;
      call = std::move(calls_.front());
      calls_.pop_front();
    }
    if (auto written = write(*call); !written)
      stop(written.error(), call->op->op.name + ", step " + std::to_string(call->step), call->slots.size());
  }
  const std::uint64_t now = now_us();
  if (stopped_ || (!flush_now && now - last_flush_us_ < kFlushPeriodUs)) return;
  last_flush_us_ = now;
  auto flushed = layout_->flush();
  {
    const std::lock_guard lock(operators_mutex_);
    if (flushed && std::exchange(log_dirty_, false)) flushed = log_writer_.flush();
  }
  if (!flushed) stop(flushed.error(), "step " + std::to_string(step_), 0);
}

Result<> Session::write(const Call& call) {
  if (stopped_) {
    const std::lock_guard lock(status_mutex_);
    if (!status_.losses.empty()) status_.losses.back().count += call.slots.size();
    return ok();
  }
  for (const RecordedSlot& slot : call.slots) {
    if (slot.job->error()) return *slot.job->error();
    if (needs_.file) {
      if (!slot.owns_file) OPDUMP_CHECK_OK(layout_->link_tensor(slot.address, slot.dtype, slot.job->file()));
      tensor_count_.fetch_add(1, std::memory_order_relaxed);
      tensor_bytes_.fetch_add(slot.job->data_bytes(), std::memory_order_relaxed);
    }
    if (plan_.content != plan::Content::tensor && math::has_statistics(slot.dtype)) {
      OPDUMP_CHECK_OK(layout_->write_statistics(
          slot.address, {slot.job->data_bytes(), slot.dtype, slot.shape, slot.job->statistics(), slot.job->md5()}));
      row_count_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  const std::lock_guard lock(status_mutex_);
  if (status_.first_step < 0) status_.first_step = call.step;
  status_.last_step = std::max(status_.last_step, call.step);
  return ok();
}

void Session::stop(const Error& error, std::string first, std::uint64_t count) {
  if (stopped_.exchange(true)) return;
  recording_ = false;
  say(LogLevel::error, "recording stopped: " + error.message() + "; the program goes on without it");
  const std::lock_guard lock(status_mutex_);
  status_.losses.push_back({"tensors after recording stopped", error.message(), count, std::move(first)});
}

void Session::report_unseen(std::string_view what, std::string_view reason) {
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
  if (!stopped_) return ok();
  const std::lock_guard lock(status_mutex_);
  return status_.losses.empty() ? ok() : Result<>(Error(Code::io, status_.losses.back().reason));
}

Result<> Session::close() {
  auto flushed = flush();
  recording_ = false;
  const dump::Status status = final_status();
  auto told = dump::write_status(rank_directory_, status);
  std::string summary = format_bytes(status.tensor_bytes) + " in " + std::to_string(status.tensor_count) + " tensors, " +
                        std::to_string(status.row_count) + " rows of statistics from " +
                        std::to_string(status.operator_count) + " operators";
  if (status.first_step >= 0)
    summary += ", steps " + std::to_string(status.first_step) + " to " + std::to_string(status.last_step);
  say(LogLevel::info, "dumped " + summary + " to " + rank_directory_.string());
  for (const plan::OpSelector::Rule& rule : selector_.rules())
    if (rule.matches == 0) say(LogLevel::warning, "no operator matched '" + rule.text + "' of the kernels list");
  for (const dump::Loss& loss : status.losses)  // why was said when it happened
    say(LogLevel::error, "not in the dump: " + loss.what + ", " + std::to_string(loss.count) + " at least, from " + loss.first);
  if (!told) return told;
  return flushed;
}

dump::Status Session::final_status() {
  const std::lock_guard lock(status_mutex_);
  status_.ended_us = now_us();
  status_.state = status_.losses.empty() ? "complete" : "incomplete";
  status_.call_count = call_count_;
  status_.tensor_count = tensor_count_;
  status_.tensor_bytes = tensor_bytes_;
  status_.row_count = row_count_;
  const std::lock_guard operators(operators_mutex_);
  status_.operator_count = static_cast<std::uint64_t>(
      std::ranges::count_if(operators_, [](const auto& entry) { return entry.second->selected; }));
  return status_;
}

void Session::say(LogLevel level, std::string_view line) const {
  if (options_.log) options_.log(level, line);
}

}  // namespace opdump::capture
