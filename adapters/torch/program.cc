// For programs without Python: recording starts when this library is loaded and ends with the program, and
// threads that the program makes take part. In a Python process the package does both (it knows when torch is
// complete).
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bridge.h"

namespace {

bool in_python() { return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr; }

bool is_torch(std::string_view library) {
  return library.starts_with("libtorch") || library.starts_with("libc10") ||
         library.starts_with("libopdump_torch");
}

bool needs_torch(const link_map& object) {
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    // An address, or an offset where the loader leaves the section as it is in the file.
    const ElfW(Addr) place = entry->d_un.d_ptr;
    names = reinterpret_cast<const char*>(place < object.l_addr ? place + object.l_addr : place);
  }
  for (const ElfW(Dyn)* entry = object.l_ld; names && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED && is_torch(names + entry->d_un.d_val)) return true;
  return false;
}

// Preloading reaches the shell that starts the program and the commands that the program starts. They have
// nothing to record, and would take the dump of the program for their own.
bool program_uses_torch() {
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next) {
    const std::string_view path = object->l_name;
    if (!is_torch(path.substr(path.rfind('/') + 1)) && needs_torch(*object)) return true;
  }
  return false;
}

// A bad configuration stops the program before it starts: that is what its user wants to know first.
__attribute__((constructor)) void start_with_program() {
  const char *config = std::getenv("OPDUMP_CONFIG"), *original = std::getenv("MINDSPORE_DUMP_CONFIG");
  if (!((config && *config) || (original && *original)) || in_python() || !program_uses_torch()) return;
  opdump_options options{};
  options.size = sizeof options;
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

// The dispatch key is thread-local and new threads do not inherit it. This definition takes the place of
// libc's only in programs that link or preload this library; loaded by Python it is not seen.
extern "C" OPDUMP_API int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                         void* (*function)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!opdump_torch_root()) return create(thread, attributes, function, argument);
  auto* wrapped = new NewThread{function, argument};
  const int error = create(thread, attributes, run_thread, wrapped);
  if (error) delete wrapped;
  return error;
}
