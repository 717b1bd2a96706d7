#include "format/tensors/h5_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

namespace opdump::format {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;  // guards everything inside the library
  return mutex;
}

// The releases that have the functions of the header, 1.14, 1.12 and 1.10, under the names that distributions
// give them.
constexpr std::array kNames{"libhdf5_serial.so.310", "libhdf5.so.310",        "libhdf5_serial.so.200",
                            "libhdf5.so.200",        "libhdf5_serial.so.103", "libhdf5.so.103"};

struct Handle {
  void* library = nullptr;
  std::string name, fault;  // `fault` without a library
};

Handle open_library() {
  if (const char* const chosen = std::getenv("OPDUMP_HDF5"); chosen != nullptr && *chosen != 0) {
    void* const library = ::dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    return {library, chosen,
            "OPDUMP_HDF5 names a library that cannot be loaded: " +
                std::string(library == nullptr ? ::dlerror() : "")};
  }
  for (const char* const name : kNames)
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return {library, name, ""};
  return {nullptr, "",
          "HDF5 files need the library libhdf5, which is not installed: install h5py by pip or libhdf5 from "
          "the system's "
          "packages, or set OPDUMP_HDF5 to its file"};
}

H5Library load() {
  H5Library h5;
  const Handle handle = open_library();
  if (handle.library == nullptr) {
    h5.fault = handle.fault;
    return h5;
  }
  const auto find = [&](const char* name) {
    void* const symbol = ::dlsym(handle.library, name);
    if (symbol == nullptr) h5.fault = handle.name + " has no " + std::string(name);
    return symbol;
  };
#define OPDUMP_H5_FIND(name) h5.name = reinterpret_cast<decltype(h5.name)>(find(#name));
  OPDUMP_H5_FUNCTIONS(OPDUMP_H5_FIND)
#undef OPDUMP_H5_FIND
  if (!h5.fault.empty()) return h5;
  // A fork of the host that exits must not flush a file that its parent has open.
  h5.H5dont_atexit();
  if (h5.H5open() < 0) h5.fault = handle.name + " does not start";
#define OPDUMP_H5_READ(name) \
  if (const void* const variable = find(#name)) h5.name = *static_cast<const hid_t*>(variable);
  OPDUMP_H5_VARIABLES(OPDUMP_H5_READ)
#undef OPDUMP_H5_READ
  return h5;
}

}  // namespace

Result<const H5Library*> load_h5() {
  static const H5Library library = load();  // stays for good: the library does not survive its unloading
  if (!library.fault.empty()) return Error(Code::unsupported, library.fault);
  return &library;
}

H5Lock::H5Lock(const H5Library& h5) : lock_(library_mutex()), h5_(h5) {
  h5_.H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
  h5_.H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

H5Lock::~H5Lock() { h5_.H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_); }

std::string h5_reason(const H5Library& h5) {
  std::string reason = "HDF5 does not say why";
  const auto take_first = [](unsigned, const H5E_error2_t* error, void* text) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return 1;  // the innermost is enough
  };
  h5.H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &reason);
  h5.H5Eclear2(H5E_DEFAULT);
  return reason;
}

}  // namespace opdump::format
