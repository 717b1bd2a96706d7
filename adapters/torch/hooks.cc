// Start, stop, fork and the hooks of torch themselves.
#include "hooks.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <pthread.h>
#include <torch/library.h>
#include <torch/version.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "device/reductions.h"
#include "device/staging.h"
#include "failure_watch.h"
#include "observer.h"
#include "opdump/original_stderr.h"
#include "opdump/run_environment.h"
#include "program_name.h"
#include "sharded/sharded_call.h"
#include "switches.h"

namespace caffe2 {
// In libtorch_cpu; old releases have no header of it.
[[gnu::weak]] const std::map<std::string, std::string>& GetBuildOptions();
}  // namespace caffe2

namespace opdump::torch_adapter {
namespace {

constexpr const char* kOpaque =
    "its generated kernels run no operators; with --compiled aten they are recorded";
// The loader of the Python package looks for it in the file: under another torch loading it would end the
// process.
#define OPDUMP_STRING_OF(x) #x
#define OPDUMP_STRING(x) OPDUMP_STRING_OF(x)
[[gnu::used]] const char kBuiltFor[] = "opdump recorder for torch " OPDUMP_STRING(
    TORCH_VERSION_MAJOR) "." OPDUMP_STRING(TORCH_VERSION_MINOR) ";";
constexpr std::int64_t kCompiledModel = 1;  // the id of the model whose executions are recorded

std::atomic<Observer*>& observer = recording_observer;
std::atomic<Interceptor*> interceptor{nullptr};
std::int64_t step_at_fork = 0;
std::atomic<bool> single_operators{false};
std::atomic<bool> executions{false};
std::atomic<bool> is_cut_short{false};   // the recording that is about to stop
std::atomic<bool> child_pending{false};  // forked while recording; the child has not decided yet
std::mutex start_mutex;                  // guards starting and stopping
at::CallbackHandle user_callback = at::INVALID_CALLBACK_HANDLE;

// Threads inside an operator; a recording is not closed under their feet.
std::atomic<int> visits{0};
struct Visit {
  Visit() { visits.fetch_add(1); }
  ~Visit() { visits.fetch_sub(1); }
};

// The torch that runs. TORCH_VERSION is that of the headers, and one recorder serves all releases of a minor
// version. at::show_config() has it, too, but asks CUDA's driver for devices, after which a forked child has
// none.
std::string name_of_runtime() {
  if (&caffe2::GetBuildOptions != nullptr) {
    const auto& options = caffe2::GetBuildOptions();
    if (const auto found = options.find("TORCH_VERSION"); found != options.end())
      return "torch " + found->second;
  }
  return std::string("torch ") + TORCH_VERSION;
}

bool wait_for_visitors() {
  for (int i = 0; i < 2000 && visits.load() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return visits.load() == 0;
}

OriginalStderr original_stderr;
std::string python;  // under start_mutex

// What explains that another run computes other numbers, and the Python that can run its operators again.
void describe_run(opdump_session* session) {
  if (!python.empty()) opdump_describe_run(session, "python", python.c_str());
  opdump_describe_run(session, "seed",
                      std::to_string(at::detail::getDefaultCPUGenerator().current_seed()).c_str());
  opdump_describe_run(session, "device", devices_used().c_str());
  opdump_describe_run(session, "threads", std::to_string(at::get_num_threads()).c_str());
  opdump_describe_run(session, "default dtype", c10::toString(c10::get_default_dtype_as_scalartype()));
  opdump_describe_run(session, "deterministic", at::globalContext().deterministicAlgorithms() ? "yes" : "no");
}

void print_to_stderr(void*, int, const char* line) { original_stderr.print(line); }

struct Mark : at::ObserverContext {  // an end callback comes only if the start callback returned a context
  bool is_generated = false;
};
struct WorkMark : at::ObserverContext {
  Observer* observer = nullptr;  // lives for ever
  WorkPiece piece;
};

struct ShardMark : at::ObserverContext {
  Observer* observer = nullptr;
  std::optional<ShardedCall> call;
};

thread_local int pauses = 0;  // that this thread is in
std::atomic<bool> has_generated_code{false};

// The way of an operator that nobody intercepts.
void run_below(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack) {
  const Visit visit;
  Observer* o = observer.load(std::memory_order_acquire);
  const bool is_seen = o && pauses == 0 && o->sees_thread();
  bool is_active = o && o->is_active();
  if (is_seen && !is_active) o->guarded([&] { is_active = o->begins_recorded_step(); });
  if (!is_active) return op.redispatchBoxed(below, stack);
  o->run(op, below, stack, is_seen);
}

// Whether autograd would have taken a composite operator apart before it came here, but for inference mode or
// a tensor that was made there; and no kernel of the tensors' device runs it.
bool is_taken_apart(const c10::OperatorHandle& op, c10::DispatchKeySet below,
                    const torch::jit::Stack& stack) {
  bool has_tensor = false, is_inference = c10::InferenceMode::is_enabled();
  const auto look = [&](const at::Tensor& tensor) {
    has_tensor = has_tensor || tensor.defined();
    is_inference = is_inference || (tensor.defined() && tensor.is_inference());
  };
  for (const c10::IValue& value : torch::jit::last(stack, op.schema().arguments().size())) {
    if (value.isTensor())
      look(value.toTensor());
    else if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorVector()) look(tensor);
  }
  if (!has_tensor || !is_inference) return false;
  const c10::DispatchKey device = below.remove(c10::DispatchKey::BackendSelect).highestPriorityTypeId();
  return !op.hasKernelForDispatchKey(device);
}

// The boxed fallback: every operator of a thread whose set includes the key.
void on_operator(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
  if (operator_kind(op).composite && is_taken_apart(op, below, *stack))
    return op.redispatchBoxed(below, stack);
  // What a kernel calls on the way is not an operator of the program.
  const c10::impl::ExcludeDispatchKeyGuard guard(kKey);
  if (child_pending.load(std::memory_order_relaxed) && child_pending.exchange(false)) {
    const opdump_torch_bridge* b = current_bridge();
    if (b && b->start_in_child) b->start_in_child();
  }
  Interceptor* i = interceptor.load(std::memory_order_acquire);
  if (!i) return run_below(op, below, stack);
  i->run(op, stack,
         [&](bool recorded) { recorded ? run_below(op, below, stack) : op.redispatchBoxed(below, stack); });
}

std::unique_ptr<at::ObserverContext> on_backward_start(const at::RecordFunction& node) {
  Observer* o = observer;
  if (!o || !o->is_watching()) return nullptr;
  hook_thread(true);  // an autograd thread that was there before recording began
  o->guarded([&] { o->enter_backward(node); });
  auto mark = std::make_unique<Mark>();
  mark->is_generated = has_generated_code && std::strstr(node.name(), "CompiledFunctionBackward");
  if (mark->is_generated) {
    if (o->is_active())
      o->guarded([&] { opdump_report_unseen(o->session(), OPDUMP_UNSEEN_BACKWARD, kOpaque); });
    opdump_torch_enter_generated();
  }
  return mark;
}

void on_backward_end(const at::RecordFunction&, at::ObserverContext* context) {
  auto* mark = static_cast<Mark*>(context);
  if (mark && mark->is_generated) opdump_torch_leave_generated();
  if (Observer* o = observer; o && mark) o->leave_backward();
}

// An operator on DTensors. A kernel has parts of them already; and torch reports its own work on a DTensor in
// the same way, but without a name.
std::unique_ptr<at::ObserverContext> on_sharded_start(const at::RecordFunction& record) {
  Observer* o = observer;
  if (!o || !o->is_active() || !o->sees_thread() || is_inside_kernel() || !record.operator_name())
    return nullptr;
  ShardedCall::Wrappers wrappers = find_wrappers(record.inputs());
  if (wrappers.empty()) return nullptr;
  auto mark = std::make_unique<ShardMark>();
  mark->observer = o;
  mark->call.emplace(std::move(wrappers));
  return mark;
}

void on_sharded_end(const at::RecordFunction& record, at::ObserverContext* context) {
  auto* mark = static_cast<ShardMark*>(context);
  if (!mark) return;
  const Visit visit;
  Observer* o = observer;
  if (o == mark->observer) o->guarded([&] { mark->call->finish(o->session(), record.outputs()); });
}

std::unique_ptr<at::ObserverContext> on_user_start(const at::RecordFunction& record) {
  const Visit visit;
  Observer* o = observer;
  if (!o) return nullptr;
  if (const auto title = find_work_title(record)) {
    auto work = std::make_unique<WorkMark>();
    work->observer = o;
    o->guarded([&] { work->piece = o->begin_work(record, *title); });
    return work;
  }
  o->guarded([&] { o->enter_optimizer(record.name()); });
  return std::make_unique<Mark>();
}

void on_user_end(const at::RecordFunction& record, at::ObserverContext* mark) {
  Observer* o = observer;
  if (auto* work = dynamic_cast<WorkMark*>(mark)) {
    if (work->piece.collective) work->observer->guarded([&] { work->observer->end_work(work->piece); });
  } else if (o && mark) {
    o->guarded([&] { o->leave_optimizer(record.name()); });
  }
}

// A thread that was there before somebody intercepts takes part from its second operator on: the way of the
// one that is under way was chosen before, and what that calls belongs to it.
thread_local bool is_joining = false;

std::unique_ptr<at::ObserverContext> on_first_operator_start(const at::RecordFunction&) {
  if (is_joining || !interceptor.load(std::memory_order_relaxed) || is_hooked()) return nullptr;
  is_joining = true;
  return std::make_unique<Mark>();
}

void on_first_operator_end(const at::RecordFunction&, at::ObserverContext* mark) {
  if (!mark) return;
  is_joining = false;
  hook_thread(interceptor != nullptr);
}

// The session's threads are gone and its locks may be held: the child must not touch it.
void after_fork_in_child() {
  Observer* o = observer.exchange(nullptr);
  if (!o) return;
  child_pending = o->is_active();
  step_at_fork = o->step();
  opdump_abandon(o->session());
  visits = 0;
  new (&start_mutex) std::mutex;  // whoever held it does not exist here
}

void install_hooks() {
  static std::once_flag once;
  std::call_once(once, [] {
    user_callback = at::addGlobalCallback(at::RecordFunctionCallback(on_user_start, on_user_end)
                                              .scopes({at::RecordScope::USER_SCOPE})
                                              .needsInputs(true));
    set_backward_callback(at::addGlobalCallback(at::RecordFunctionCallback(on_backward_start, on_backward_end)
                                                    .scopes({at::RecordScope::BACKWARD_FUNCTION})));
    const at::CallbackHandle shards =
        at::addGlobalCallback(at::RecordFunctionCallback(on_sharded_start, on_sharded_end)
                                  .scopes({at::RecordScope::FUNCTION})
                                  .needsInputs(true)
                                  .needsOutputs(true));
    set_shard_callback(shards);
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  });
}

}  // namespace

void set_interceptor(Interceptor* i) {
  static at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      interceptor = nullptr;
      keep_threads_hooked(false);
    });
    callback =
        at::addGlobalCallback(at::RecordFunctionCallback(on_first_operator_start, on_first_operator_end)
                                  .scopes({at::RecordScope::FUNCTION}));
    at::disableCallback(callback);
  });
  keep_threads_hooked(i != nullptr);
  if (interceptor.exchange(i) == nullptr && i) at::reenableCallback(callback);
  if (!i) at::disableCallback(callback);
  const Observer* o = observer;
  hook_thread(o && o->is_watching());
}

TORCH_LIBRARY_IMPL(_, Fake, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_operator>()); }

}  // namespace opdump::torch_adapter

using namespace opdump::torch_adapter;

opdump_status opdump_torch_start(const opdump_options* options, int64_t first_step) {
  const std::lock_guard lock(start_mutex);
  if (observer.load() || !options) return OPDUMP_ERROR_ARGUMENT;
  opdump_options filled = *options;
  opdump::fill_from_environment(filled);
  static const std::string runtime = name_of_runtime();
  filled.runtime = runtime.c_str();
  const bool only_executions = executions && !single_operators;
  // The graph is that of the main process, or that of the compiled model.
  filled.reports_graph = options->process || single_operators || only_executions ? 0 : 1;
  filled.retain = Contents::retain;
  filled.release = Contents::release;
  filled.wait = wait_for_staged;
  original_stderr.keep(STDERR_FILENO);
  if (!filled.log) filled.log = print_to_stderr;
  opdump_session* session = nullptr;
  if (const opdump_status status = opdump_open(&filled, &session); status != OPDUMP_OK) {
    opdump::report_to_run('!');
    return status;
  }
  if (!session) return OPDUMP_OK;  // the configuration asks for nothing
  set_device_statistics(opdump_device_statistics(session));
  const std::string name = program_name();
  opdump_graph_info model{};
  model.size = sizeof model;
  model.graph_id = only_executions ? kCompiledModel : 0;
  model.name = model.file_name = name.c_str();
  opdump_define_graph(session, &model);
  describe_run(session);
  install_hooks();
  const std::string root = options->process ? std::string("Default/") + options->process : "Default";
  observer = new Observer(session, root, first_step,
                          single_operators  ? OPDUMP_NO_GRAPH
                          : only_executions ? kCompiledModel
                                            : 0,
                          only_executions);
  watch_failures(opdump_keeps_failures(session) != 0);
  observer.load()->join_thread();
  opdump::report_to_run('+');
  return OPDUMP_OK;
}

void opdump_torch_set_python(const char* path) {
  const std::lock_guard lock(start_mutex);
  python = path;
}

opdump_status opdump_torch_stop(void) {
  const std::lock_guard lock(start_mutex);
  const bool was_cut_short = is_cut_short.exchange(false);
  Observer* o = observer.exchange(nullptr);
  if (!o) return OPDUMP_OK;
  opdump_mark_step(o->session(), was_cut_short ? OPDUMP_STEP_CUT : o->open_step());
  hook_thread(false);
  hook_backward(false);
  watch_failures(false);
  hook_shards(false);
  // The observer itself stays for threads that still hold a pointer to it or to a scope. It is small, once
  // per recording.
  const bool can_close = wait_for_visitors();
  o->give_up_work();
  describe_run(o->session());  // programs choose a seed when they run
  const opdump_status status = can_close ? opdump_close(o->session()) : opdump_flush(o->session());
  opdump::report_to_run('-');
  return status;
}

void opdump_torch_step(void) {
  if (Observer* o = observer) o->tick(Observer::Clock::explicit_calls);
}

void opdump_torch_push(const char* component) {
  Observer* o = observer;
  if (!o || !component) return;
  auto* parent = static_cast<Scope*>(opdump_torch_module_scope());
  opdump_torch_push_scope(o->names().child(parent ? parent : o->names().root(), component));
}

int opdump_torch_active(void) {
  Observer* o = observer;
  return o && o->is_active();
}

void opdump_torch_set_bridge(const opdump_torch_bridge* bridge) { set_bridge(bridge); }

void opdump_torch_record_single_operators(int on) { single_operators = on != 0; }

void opdump_torch_record_executions(int on) { executions = on != 0; }

void opdump_torch_enter_execution(void) {
  if (Observer* o = observer) o->enter_execution();
}

void opdump_torch_leave_execution(void) {
  if (Observer* o = observer) o->leave_execution();
}

int opdump_torch_records_executions(void) {
  const Observer* o = observer;
  return o && o->records_executions();
}

int opdump_torch_is_executing(void) {
  const Observer* o = observer;
  return o && o->sees_thread();
}

void* opdump_torch_root(void) {
  Observer* o = observer;
  return o ? o->names().root() : nullptr;
}

void* opdump_torch_descend(void* parent, const char* path) {
  Observer* o = observer;
  return o ? o->names().descend(static_cast<Scope*>(parent), path) : nullptr;
}

void opdump_torch_name_tensor(void* storage, const char* name, int is_weight) {
  if (Observer* o = observer)
    o->contents().name(static_cast<c10::StorageImpl*>(storage), intern(name), is_weight != 0);
}

void opdump_torch_flag_scope(void* scope, int enabled) {
  Observer* o = observer;
  if (!o) return;
  if (scope == o->names().root()) return o->names().flag_model(enabled != 0);
  opdump_set_dump(o->session(), static_cast<Scope*>(scope)->path().c_str(),
                  (enabled ? OPDUMP_FLAG_ON : 0) | OPDUMP_FLAG_UNNAMED);
}

void opdump_torch_set_dump(const char* name, int enabled) {
  if (Observer* o = observer) opdump_set_dump(o->session(), name, enabled);
}

void opdump_torch_name_model(const char* name) {
  Observer* o = observer;
  if (!o || !name) return;
  opdump_graph_info info{};
  info.size = sizeof info;
  info.graph_id = o->records_executions() ? kCompiledModel : 0;
  info.name = name;
  opdump_define_graph(o->session(), &info);
}

void opdump_torch_mark(const char* mark) { set_mark(mark ? intern(mark) : nullptr); }

void opdump_torch_enter_call(int counts, int repeats, int trains) {
  if (Observer* o = observer)
    o->enter_call({counts != 0, repeats != 0, trains != 0 && c10::GradMode::is_enabled()});
}

void opdump_torch_leave_call(void) {
  if (Observer* o = observer) o->leave_call();
}

void opdump_torch_keep_stderr(int original) { original_stderr.keep(original); }

void opdump_torch_pause(void) { ++pauses; }
void opdump_torch_resume(void) { --pauses; }

void opdump_torch_enter_generated(void) {
  has_generated_code = true;
  ++pauses;
  if (Observer* o = observer) o->guarded([&] { o->enter_generated(); });
}

void opdump_torch_leave_generated(void) {
  --pauses;
  if (Observer* o = observer) o->guarded([&] { o->leave_generated(); });
}

void opdump_torch_rest(void) {
  if (Observer* o = observer) opdump_rest(o->session());
}

void opdump_torch_abandon(void) {
  const std::lock_guard lock(start_mutex);
  Observer* o = observer.exchange(nullptr);
  if (!o) return;
  hook_thread(false);
  hook_backward(false);
  watch_failures(false);
  hook_shards(false);
  wait_for_visitors();
  opdump_abandon(o->session());
  opdump::report_to_run('-');
}

const char* opdump_torch_directory(void) {
  Observer* o = observer;
  return o ? opdump_directory(o->session()) : "";
}

void opdump_torch_await_operator(void) { child_pending = true; }

void opdump_torch_expect_shards(void) { expect_shards(); }

void opdump_torch_cut_short(void) { is_cut_short = true; }

void opdump_torch_join_thread(void) {
  Observer* o = observer;
  o ? o->join_thread() : hook_thread(false);
}

int opdump_torch_lend_thread(void* scope) {
  const bool was_hooked = is_hooked();
  if (!was_hooked) opdump_torch_join_thread();
  opdump_torch_push_scope(scope);
  return was_hooked ? 0 : 1;
}

void opdump_torch_return_thread(int was_lent) {
  opdump_torch_pop();
  if (was_lent != 0) hook_thread(false);
}

void* opdump_torch_current_scope(void) {
  Observer* o = observer;
  void* scope = nullptr;
  if (o && o->is_active()) o->guarded([&] { scope = o->current_scope(); });
  return scope;
}

void opdump_torch_settle(void* storage) {
  Observer* o = observer;
  if (!o || !o->is_active()) return;
  const std::uint64_t number = o->contents().find(static_cast<c10::StorageImpl*>(storage)).number;
  opdump_before_write(o->session(), &number, 1);
}

void opdump_torch_written(void* storage) {
  if (Observer* o = observer) o->contents().changed(static_cast<c10::StorageImpl*>(storage));
}

void opdump_torch_allocated(void* storage) {
  if (Observer* o = observer) o->contents().changed(static_cast<c10::StorageImpl*>(storage), true);
}

void opdump_torch_raise_alarm(const char* kind, const char* text) {
  if (Observer* o = observer) opdump_raise_alarm(o->session(), kind, text);
}

void opdump_torch_report_unseen(const char* what, const char* reason) {
  if (Observer* o = observer) opdump_report_unseen(o->session(), what, reason);
}

int64_t opdump_torch_current_step(void) {
  Observer* o = observer;
  return o ? o->step() : step_at_fork;
}
