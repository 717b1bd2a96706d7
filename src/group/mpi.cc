#include "group/mpi.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <type_traits>

namespace opdump::group {
namespace {

constexpr const char* kPluginName = "libopdump_mpi.so";

// Beside the program: as installed, or as built.
void* load_plugin() {
  std::error_code failed;
  const auto prefix = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().parent_path();
  for (const char* folder : {OPDUMP_LIBDIR, "lib"}) {
    // MPI finds its own parts by looking through everything that is loaded.
    if (void* handle = ::dlopen((prefix / folder / kPluginName).c_str(), RTLD_NOW | RTLD_GLOBAL))
      return handle;
  }
  return nullptr;
}

Error mpi_error(int code) { return {Code::io, "MPI: error " + std::to_string(code)}; }

}  // namespace

Result<Mpi> Mpi::load() {
  void* const handle = load_plugin();
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    return Error(Code::unsupported, "running as one of several MPI processes, but " +
                                        std::string(kPluginName) +
                                        " cannot be loaded: " + (why != nullptr ? why : "unknown"));
  }
  Mpi mpi;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    return function != nullptr;
  };
  if (!find(mpi.join_, "opdump_mpi_join") || !find(mpi.gather_numbers_, "opdump_mpi_gather_numbers") ||
      !find(mpi.broadcast_, "opdump_mpi_broadcast") || !find(mpi.leave_, "opdump_mpi_leave"))
    return Error(Code::unsupported, "another version of opdump came with this " + std::string(kPluginName));
  return mpi;
}

Result<> Mpi::start() {
  // Waiting for the others must not take a core from their workers.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  int rank = 0, size = 1;
  if (const int code = join_(&rank, &size); code != 0) return mpi_error(code);
  rank_ = static_cast<std::size_t>(rank);
  size_ = static_cast<std::size_t>(size);
  return ok();
}

Result<std::vector<std::uint64_t>> Mpi::gather(std::uint64_t mine) const {
  std::vector<std::uint64_t> all(size_);
  if (const int code = gather_numbers_(mine, all.data()); code != 0) return mpi_error(code);
  return all;
}

Result<std::vector<std::string>> Mpi::exchange(const std::string& mine) const {
  OPDUMP_TRY(const auto sizes, gather(mine.size()));
  std::vector<std::string> all(size_);
  for (std::size_t rank = 0; rank < size_; ++rank) {
    all[rank] = rank == rank_ ? mine : std::string(sizes[rank], '\0');
    if (const int code = broadcast_(static_cast<int>(rank), all[rank].data(), sizes[rank]); code != 0)
      return mpi_error(code);
  }
  return all;
}

}  // namespace opdump::group
