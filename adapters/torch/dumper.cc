#include "dumper.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "dumper_overflow.h"

namespace opdump::torch_adapter {

struct Dumper::Thread {
  bool inside = false;         // an operator or node is under way: what it calls is not recorded
  std::optional<Record> node;  // the one under way
};

Dumper::Thread& Dumper::this_thread() {
  thread_local Thread thread;
  return thread;
}

void Dumper::start(const Options& options) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { dumper().abandon(); }); });
  stop();
  const std::lock_guard lock(mutex_);
  if (options.mode == Mode::load) {
    load_file_ = LoadFile::open(options.load_path);
    TORCH_CHECK(load_file_, opdump_last_error());
  }
  options_ = options;
  flushes_ = {};
  loss_.clear();
}

std::string Dumper::stop() {
  const std::lock_guard lock(mutex_);
  options_.mode = Mode::off;
  load_file_.reset();
  if (opdump_h5_close(std::exchange(file_, nullptr)) != OPDUMP_OK && loss_.empty())
    loss_ = opdump_last_error();
  return std::exchange(loss_, {});
}

// The original's console lines.
void Dumper::say(const Record& record, const char* what) const {
  std::printf("IR: %s SeqId: %lld %s\n", record.name.c_str(), static_cast<long long>(record.id), what);
  std::fflush(stdout);
}

// A program that is killed leaves what was flushed. That takes HDF5 half a millisecond even if there is
// little to be done, so it happens after long operators, and a fiftieth of the time goes into it. In between
// nothing that the file refers to is written: the library holds changed parts of the structure in its cache,
// which takes far more than kMostUnflushed writes.
opdump_status Dumper::flush_at_times() {
  constexpr int kMostUnflushed = 256, kShare = 50;
  constexpr std::chrono::steady_clock::duration kLongest = std::chrono::seconds(1);
  const auto now = std::chrono::steady_clock::now();
  if (++flushes_.unflushed < kMostUnflushed && now < flushes_.next) return OPDUMP_OK;
  const opdump_status status = opdump_h5_flush(file_);
  const auto end = std::chrono::steady_clock::now();
  flushes_ = {0, end + std::min(kShare * (end - now), kLongest)};
  return status;
}

void Dumper::write(const Record& record, const char* side, const NamedValues& values) {
  if (!loss_.empty()) return;
  const bool is_open = file_ || opdump_h5_create(options_.dump_path.c_str(), &file_) == OPDUMP_OK;
  const std::string group = "/" + record.name + "/" + std::to_string(record.id) + "/" + side;
  try {
    if (!is_open || write_values(file_, group, values, options_.style) != OPDUMP_OK ||
        flush_at_times() != OPDUMP_OK)
      loss_ = opdump_last_error();
  } catch (const std::exception& error) {  // no memory for a copy: not the program's concern
    loss_ = group + ": " + error.what();
  }
}

Dumper::Record Dumper::begin(const std::string& name, NamedValues inputs) {
  const std::lock_guard lock(mutex_);
  Record record{name, -1, {}};
  switch (options_.mode) {
    case Mode::dump:
      record.id = ++records_;
      say(record, "dump inputs");
      write(record, "input", inputs);
      break;
    case Mode::check_overflow:
      record.id = ++records_;
      record.inputs = keep(std::move(inputs));
      break;
    case Mode::load:
      record.id = load_file_->load(name, inputs);
      if (record.id < 0) break;
      std::printf("IR: %s load inputs\n", name.c_str());
      break;
    case Mode::off:
      break;
  }
  return record;
}

bool Dumper::end_checked(Record& record, const NamedValues& outputs) {
  if (!has_overflow(record.inputs, outputs)) return false;
  say(record, "is overflow!");
  write(record, "input", record.inputs);
  write(record, "output", outputs);
  return true;
}

bool Dumper::end(Record& record, const NamedValues& outputs) {
  const std::lock_guard lock(mutex_);
  if (options_.mode == Mode::off) return false;
  if (options_.mode == Mode::check_overflow) return end_checked(record, outputs);
  say(record, "dump outputs");
  if (record.id >= 0) write(record, "output", outputs);
  return false;
}

void Dumper::run(const c10::OperatorHandle& op, torch::jit::Stack* stack, const Call& call) {
  Thread& thread = this_thread();
  const DumperKind& kind = dumper_kind(op);
  if (thread.inside || kind.skipped) return call(!options_.with_acl || (thread.node && thread.node->id >= 0));
  struct Inside {  // also if the operator throws
    bool& flag;
    explicit Inside(bool& f) : flag(f) { flag = true; }
    ~Inside() { flag = false; }
  } inside(thread.inside);

  const std::size_t count = kind.arguments.size();
  Record record;
  std::vector<c10::IValue> changed;  // the stack loses its arguments
  {
    const Unobserved unobserved;
    const auto arguments = torch::jit::last(*stack, count);
    record = begin(kind.name, arguments_of(kind, arguments));
    if (!kind.changed.empty()) changed = arguments.vec();
  }
  call(!options_.with_acl || record.id >= 0);
  const Unobserved unobserved;
  end(record, results_of(kind, torch::jit::last(*stack, kind.returns.size()), changed));
}

void Dumper::begin_node(const std::string& name, NamedValues inputs) {
  const Unobserved unobserved;
  Thread& thread = this_thread();
  thread.inside = true;
  thread.node = begin(name, std::move(inputs));
}

bool Dumper::end_node(const at::ArrayRef<c10::IValue>& grad_inputs) {
  const Unobserved unobserved;
  Thread& thread = this_thread();
  thread.inside = false;
  if (!thread.node) return false;
  Record record = *std::exchange(thread.node, std::nullopt);
  NamedValues outputs;
  add_list("grad_inputs", grad_inputs, outputs);
  return end(record, outputs);
}

void Dumper::abandon_node() { this_thread() = {}; }

void Dumper::abandon() {
  new (&mutex_) std::recursive_mutex;  // whoever held it does not exist here
  options_.mode = Mode::off;
  file_ = nullptr;
  load_file_.release();
}

Dumper& dumper() {
  static auto* d = new Dumper;  // never destroyed: operators run while the process ends
  return *d;
}

}  // namespace opdump::torch_adapter
