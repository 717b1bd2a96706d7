#include "door.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include <tensorflow/c/eager/tfe_context_internal.h>
#include <tensorflow/core/common_runtime/eager/context.h>
#include "blocks.h"
#include "observer.h"
#include "opdump/original_stderr.h"
#include "opdump/run_environment.h"

namespace opdump::tensorflow_adapter {
namespace {

std::mutex start_mutex;
std::atomic<Observer*> observer{nullptr};
std::atomic<int> visits{0};

OriginalStderr original_stderr;

void print_line(void*, int, const char* line) { original_stderr.print(line); }

// A forked process has the files of its parent, and none of its threads.
void after_fork_in_child() {
  if (Observer* const o = observer.exchange(nullptr)) opdump_abandon(o->session());
  visits = 0;
}

bool wait_for_visitors() {
  for (int i = 0; i < 2000 && visits > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return visits == 0;
}

}  // namespace

Visit::Visit() {
  ++visits;
  observer_ = opdump::tensorflow_adapter::observer.load();
}

Visit::~Visit() { --visits; }

}  // namespace opdump::tensorflow_adapter

using namespace opdump::tensorflow_adapter;

void opdump_tensorflow_keep_stderr(int original) { original_stderr.keep(original); }

opdump_status opdump_tensorflow_start(const opdump_options* options, const char* program) {
  const std::lock_guard<std::mutex> lock(start_mutex);
  if (observer.load() || !options) return OPDUMP_ERROR_ARGUMENT;
  static std::once_flag once;
  std::call_once(once, [] {
    original_stderr.keep(STDERR_FILENO);
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  });
  opdump_options filled = *options;
  opdump::fill_from_environment(filled);
  filled.reports_graph = options->process ? 0 : 1;
  filled.log = print_line;
  opdump_session* session = nullptr;
  if (const opdump_status status = opdump_open(&filled, &session); status != OPDUMP_OK) {
    opdump::report_to_run('!');
    return status;
  }
  if (!session) return OPDUMP_OK;  // the configuration requests nothing
  opdump_graph_info model{};
  model.size = sizeof model;
  model.name = model.file_name = program;
  opdump_define_graph(session, &model);
  observer = new Observer(session);
  opdump::report_to_run('+');
  return OPDUMP_OK;
}

opdump_status opdump_tensorflow_stop(int was_cut_short) {
  const std::lock_guard<std::mutex> lock(start_mutex);
  Observer* const o = observer.exchange(nullptr);
  if (!o) return OPDUMP_OK;
  opdump_mark_step(o->session(), was_cut_short ? OPDUMP_STEP_CUT : o->open_step());
  // The observer itself stays for threads that still hold a pointer to it. It is small, once for each
  // recording.
  const bool can_close = wait_for_visitors();
  const opdump_status status = can_close ? opdump_close(o->session()) : opdump_flush(o->session());
  blocks().set_active(false);
  opdump::report_to_run('-');
  return status;
}

void opdump_tensorflow_set_describer(void (*ask)(void)) { describe = ask; }

void opdump_tensorflow_describe(const char* scope, const char* file, int line) {
  Description& description = current_description();
  description.scope = scope ? scope : "";
  description.source = {file ? file : "", line};
}

void opdump_tensorflow_set_context(void* context) {
  const Visit visit;
  if (!visit.observer() || !context) return;
  auto* const eager =
      tensorflow::ContextFromInterface(tensorflow::unwrap(static_cast<TFE_Context*>(context)));
  if (auto* const library = eager->func_lib(eager->HostCPU()))
    visit.observer()->add_runtime(library->config_proto());
}

void opdump_tensorflow_enter(const char* unit, int section) {
  const Visit visit;
  if (Observer* const o = visit.observer()) o->enter(unit, static_cast<Section>(section));
  push_section(static_cast<Section>(section));
}

void opdump_tensorflow_leave(int section) {
  pop_section(static_cast<Section>(section));
  const Visit visit;
  if (Observer* const o = visit.observer()) o->leave(static_cast<Section>(section));
}

void opdump_tensorflow_begin_unit(const char* unit) {
  const Visit visit;
  if (Observer* const o = visit.observer()) o->begin_unit(unit);
}

void opdump_tensorflow_add_optimizer(const char* scope) {
  const Visit visit;
  Observer* const o = visit.observer();
  if (!o) return;
  o->note_optimizer();
  if (scope && *scope) o->names().add_optimizer(scope);
}

void opdump_tensorflow_add_source(const char* node, const char* file, int line) {
  const Visit visit;
  if (Observer* const o = visit.observer()) o->names().add_source(node, {file, line});
}

void opdump_tensorflow_step(void) {
  const Visit visit;
  if (Observer* const o = visit.observer()) o->step();
}

int opdump_tensorflow_is_active(void) {
  const Visit visit;
  return visit.observer() && visit.observer()->is_active();
}

int64_t opdump_tensorflow_current_step(void) {
  const Visit visit;
  return visit.observer() ? visit.observer()->current_step() : 0;
}

void opdump_tensorflow_report_unseen(const char* what, const char* reason) {
  const Visit visit;
  if (Observer* const o = visit.observer()) opdump_report_unseen(o->session(), what, reason);
}
