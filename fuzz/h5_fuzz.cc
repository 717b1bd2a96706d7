// Any bytes as an HDF5 file: an error or datasets whose elements can be read or say why not. What the library
// does with the bytes happens in a child; here it matters that this process stays unharmed. What the child
// covers guides the search all the same: it leaves libFuzzer's counters in shared memory before it ends.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>

#include "base/file/file.h"
#include "format/tensors/h5.h"

// --wrap tells the linker to call these instead of the functions of these names.
extern "C" {
void __real___sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end);
void __wrap___sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end);
[[noreturn]] void __real__exit(int status);
[[noreturn]] void __wrap__exit(int status);
}

namespace {

constinit std::span<std::uint8_t> counters;

// As many counters, the same memory in this process and its children.
std::span<std::uint8_t> shared_counters() {
  static void* const memory =
      ::mmap(nullptr, counters.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return {static_cast<std::uint8_t*>(memory), counters.size()};
}

void merge(std::span<const std::uint8_t> from, std::span<std::uint8_t> into) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void try_file(const std::uint8_t* data, std::size_t size) {
  using namespace opdump;
  const Fd file(::memfd_create("fuzz.h5", 0));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  if (!write_all(file, {reinterpret_cast<const std::byte*>(data), size}, path)) return;
  const auto opened =
      format::H5File::open("/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get()));
  if (!opened) return;
  for (const format::H5Dataset& dataset : opened->datasets()) {
    if (dataset.extent &&
        (dataset.extent->offset > size || dataset.extent->bytes > size - dataset.extent->offset))
      __builtin_trap();
    if (dataset.stored_bytes > 0 && dataset.stored_bytes < 4096) [[maybe_unused]]
      const auto read = opened->read(dataset);
  }
}

}  // namespace

extern "C" void __wrap___sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end) {
  counters = {begin, end};
  __real___sanitizer_cov_8bit_counters_init(begin, end);
}

extern "C" void __wrap__exit(int status) {
  merge(counters, shared_counters());
  __real__exit(status);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::ranges::fill(shared_counters(), std::uint8_t{0});  // the first call makes the memory, before any child
  try_file(data, size);
  merge(shared_counters(), counters);
  return 0;
}
