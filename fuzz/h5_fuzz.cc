// Any bytes as an HDF5 file: an error or datasets whose elements can be read or say why not. What the library
// does with the bytes happens in a child; here it matters that this process stays unharmed.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/file.h"
#include "format/h5.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump;
  const Fd file(::memfd_create("fuzz.h5", 0));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  if (!write_all(file, {reinterpret_cast<const std::byte*>(data), size}, path)) return 0;
  const auto opened =
      format::H5File::open("/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get()));
  if (!opened) return 0;
  for (const format::H5Dataset& dataset : opened->datasets()) {
    if (dataset.extent &&
        (dataset.extent->offset > size || dataset.extent->bytes > size - dataset.extent->offset))
      __builtin_trap();
    if (dataset.stored_bytes > 0 && dataset.stored_bytes < 4096) [[maybe_unused]]
      const auto read = opened->read(dataset);
  }
  return 0;
}
