#include "capture/run_identity.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <set>

#include "dump/write/folder/recording_folder.h"

namespace opdump::capture {
namespace {

std::mutex mutex;  // guards ended()
std::set<std::string>& ended() {
  static auto* ids = new std::set<std::string>;  // never destroyed: recordings end at the very end
  return *ids;
}

// Whoever held the mutex when the process was forked does not exist in the child.
void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { new (&mutex) std::mutex; }); });
}

}  // namespace

std::string begin_run() {
  watch_forks();
  const std::lock_guard lock(mutex);
  const char* const given = std::getenv(kRunIdVariable);
  if (given != nullptr && dump::is_run_id(given) && !ended().contains(given)) return given;
  std::string id = dump::make_run_id();
  ::setenv(kRunIdVariable, id.c_str(), 1);
  return id;
}

void end_run(const std::string& id) {
  const std::lock_guard lock(mutex);
  ended().insert(id);
}

}  // namespace opdump::capture
