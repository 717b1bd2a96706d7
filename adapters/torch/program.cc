// For programs without Python: recording starts when this library is loaded and ends with the program, and threads that the
// program makes take part. In a Python process the package does both (it knows when torch is complete).
#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bridge.h"

namespace {

bool in_python() { return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr; }

const char* first_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value && *value) return value;
  return nullptr;
}

// A bad configuration stops the program before it starts: that is what its user wants to know first.
__attribute__((constructor)) void start_with_program() {
  const char* config = first_of({"OPDUMP_CONFIG", "MINDSPORE_DUMP_CONFIG"});
  if (!config || in_python()) return;
  opdump_options options{};
  options.size = sizeof options;
  options.config_path = config;
  options.mode = std::getenv("OPDUMP_MODE");
  options.strict = std::getenv("OPDUMP_STRICT") != nullptr;
  if (const char* rank = first_of({"RANK_ID", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}))
    options.rank = static_cast<uint32_t>(std::strtoul(rank, nullptr, 10));
  if (opdump_torch_start(&options, 0) != OPDUMP_OK) {
    std::fprintf(stderr, "opdump: %s\n", opdump_last_error());
    std::_Exit(2);
  }
  std::atexit([] { opdump_torch_stop(); });
}

struct NewThread {
  void* (*function)(void*);
  void* argument;
};

void* run_thread(void* raw) {
  const NewThread thread = *static_cast<NewThread*>(raw);
  delete static_cast<NewThread*>(raw);
  opdump_torch_join_thread();
  return thread.function(thread.argument);
}

}  // namespace

// The dispatch key is thread-local and new threads do not inherit it. This definition takes the place of libc's only in
// programs that link or preload this library; loaded by Python it is not seen.
extern "C" OPDUMP_API int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                                         void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!opdump_torch_active()) return create(thread, attributes, function, argument);
  auto* wrapped = new NewThread{function, argument};
  const int error = create(thread, attributes, run_thread, wrapped);
  if (error) delete wrapped;
  return error;
}
