#include "dumper/dumper.h"

#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "dumper/dumper_overflow.h"
#include "operands.h"

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
  fresh_.clear();
  flushes_ = {};
  fault_.clear();
  losses_.clear();
  console_ = find_console();
}

std::string Dumper::stop() {
  const std::lock_guard lock(mutex_);
  options_.mode = Mode::off;
  load_file_.reset();
  if (file_ && !losses_.empty()) opdump_h5_lose(file_, losses_.c_str());
  if (opdump_h5_close(std::exchange(file_, nullptr)) != OPDUMP_OK && fault_.empty())
    fault_ = opdump_last_error();
  if (fault_.empty()) fault_ = std::move(losses_);
  losses_.clear();
  return std::exchange(fault_, {});
}

void Dumper::lose(const std::string& name, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (losses_.empty()) losses_ = name + ": " + reason;
}

// The program runs on, whatever becomes of its record.
template <typename Observe>
void Dumper::guard(const std::string& name, const Observe& observe) noexcept {
  try {
    const Unobserved unobserved;
    observe();
  } catch (const c10::Error& error) {
    lose(name, error.what_without_backtrace());
  } catch (const std::exception& error) {
    lose(name, error.what());
  }
}

std::optional<Dumper::Console> Dumper::find_console() {
  struct stat info {};
  if (::fstat(STDOUT_FILENO, &info) != 0) return std::nullopt;
  return Console{info.st_dev, info.st_ino};
}

// Past the buffer of stdio: a child that is forked at any moment would print what it holds once more. A
// program that closes its standard output and opens a file of its own there must not find lines of ours in
// it.
void Dumper::say(const std::string& line) const {
  if (!console_ || find_console() != console_) return;
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, line.data() + done, line.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      pollfd wait{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

// The original's console lines.
void Dumper::say(const Record& record, const char* what) const {
  say("IR: " + record.name + " SeqId: " + std::to_string(record.id) + " " + what + "\n");
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
  if (!fault_.empty()) return;
  const bool is_open = file_ || opdump_h5_create(options_.dump_path.c_str(), &file_) == OPDUMP_OK;
  const std::string group = "/" + record.name + "/" + std::to_string(record.id) + "/" + side;
  try {
    if (!is_open || write_values(file_, group, values, options_.style) != OPDUMP_OK ||
        flush_at_times() != OPDUMP_OK)
      fault_ = opdump_last_error();
  } catch (const c10::Error& error) {  // no memory for a copy, a kind of tensor that nobody knows
    lose(group, error.what_without_backtrace());
  } catch (const std::exception& error) {
    lose(group, error.what());
  }
}

Dumper::Record Dumper::begin(const std::string& name, NamedValues inputs) {
  const std::lock_guard lock(mutex_);
  Record record{name, -1, {}};
  mark_uninitialised(inputs);
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
      say("IR: " + name + " load inputs\n");
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

bool Dumper::end(Record& record, NamedValues outputs) {
  const std::lock_guard lock(mutex_);
  mark_uninitialised(outputs);
  if (options_.mode == Mode::off) return false;
  if (options_.mode == Mode::check_overflow) return end_checked(record, outputs);
  say(record, "dump outputs");
  if (record.id >= 0) write(record, "output", outputs);
  return false;
}

// Writes of operators that do not say what they write to are seen by the checksum.
void Dumper::note_writes(const OperatorKind& kind, c10::ArrayRef<c10::IValue> arguments) {
  if (!kind.writes || kind.is_silent) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (kind.writes_to(i, arguments))
      for_each_storage(arguments[i], [&](c10::StorageImpl* storage) { fresh_.forget(storage); });
}

void Dumper::note_fresh(c10::ArrayRef<c10::IValue> returns) {
  const std::lock_guard lock(mutex_);
  for (const c10::IValue& value : returns)
    for_each_storage(value, [&](c10::StorageImpl* storage) { fresh_.note(storage); });
}

void Dumper::mark_uninitialised(NamedValues& values) const {
  for (NamedValue& value : values)
    if (value.type == ValueType::tensor && value.unread == Unread::no)
      for_each_storage(value.value, [&](c10::StorageImpl* storage) {
        if (fresh_.holds(storage)) value.unread = Unread::uninitialised;
      });
}

void Dumper::run_unrecorded(const OperatorKind& known, const DumperKind& kind, torch::jit::Stack* stack,
                            const Call& call) {
  const Thread& thread = this_thread();
  note_writes(known, torch::jit::last(*stack, kind.arguments.size()));
  call(!options_.with_acl || (thread.node && thread.node->id >= 0));
  if (kind.makes_fresh) note_fresh(torch::jit::last(*stack, kind.returns.size()));
}

void Dumper::run(const c10::OperatorHandle& op, torch::jit::Stack* stack, const Call& call) {
  Thread& thread = this_thread();
  const DumperKind& kind = dumper_kind(op);
  const OperatorKind& known = operator_kind(op);
  if (thread.inside || kind.skipped) return run_unrecorded(known, kind, stack, call);
  struct Inside {  // also if the operator throws
    bool& flag;
    explicit Inside(bool& f) : flag(f) { flag = true; }
    ~Inside() { flag = false; }
  } inside(thread.inside);

  const std::size_t count = kind.arguments.size();
  std::optional<Record> record;
  std::vector<c10::IValue> changed;  // the stack loses its arguments
  guard(kind.name, [&] {
    const auto arguments = torch::jit::last(*stack, count);
    record = begin(kind.name, arguments_of(kind, arguments));
    note_writes(known, arguments);
    if (!kind.changed.empty()) changed = arguments.vec();
  });
  call(!options_.with_acl || (record && record->id >= 0));
  if (!record) return;
  guard(kind.name,
        [&] { end(*record, results_of(kind, torch::jit::last(*stack, kind.returns.size()), changed)); });
}

void Dumper::begin_node(const std::string& name, NamedValues inputs) {
  Thread& thread = this_thread();
  guard(name, [&] {
    thread.node = begin(name, std::move(inputs));
    thread.inside = true;
  });
}

bool Dumper::end_node(const at::ArrayRef<c10::IValue>& grad_inputs) {
  Thread& thread = this_thread();
  thread.inside = false;
  if (!thread.node) return false;
  Record record = *std::exchange(thread.node, std::nullopt);
  bool overflowed = false;
  guard(record.name, [&] {
    NamedValues outputs;
    add_list("grad_inputs", grad_inputs, outputs);
    overflowed = end(record, std::move(outputs));
  });
  return overflowed;
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
