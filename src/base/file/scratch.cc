#include "base/file/scratch.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file/nameless_file.h"
#include "base/file/resident.h"

namespace opdump {
namespace {

std::atomic<std::uint64_t> held_bytes{0};

// True if `bytes` more may be memory of the process; then they are counted.
bool hold(std::uint64_t bytes) {
  if (bytes > kScratchHeldBytes) return false;
  if (held_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kScratchHeldBytes) return true;
  held_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

}  // namespace

Result<Scratch> Scratch::make(std::uint64_t bytes, Sharing sharing) {
  if (bytes == 0) return Scratch();
  if (!hold(bytes)) return make_file(bytes);
  void* memory = nullptr;
  if (sharing == Sharing::none)
    memory = std::calloc(bytes, 1);
  else if (memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
           memory == MAP_FAILED)
    memory = nullptr;
  if (memory != nullptr)
    return Scratch({static_cast<std::byte*>(memory), bytes},
                   sharing == Sharing::none ? Kind::heap : Kind::shared);
  held_bytes -= bytes;
  return Error(Code::io, "there is no memory for " + std::to_string(bytes) + " bytes");
}

Result<Scratch> Scratch::make_file(std::uint64_t bytes) {
  const std::filesystem::path folder = nameless_directory();
  OPDUMP_TRY(const Fd fd, open_nameless(folder));
  if (bytes > static_cast<std::uint64_t>(INT64_MAX))
    errno = EFBIG;
  else
    errno = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  const std::string what = "make room for " + std::to_string(bytes) + " bytes of elements";
  if (errno != 0) return io_error(folder, what + " (TMPDIR may name another directory)");
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return io_error(folder, what);
  const std::span<std::byte> mapped(static_cast<std::byte*>(memory), bytes);
  note_mapping(mapped, fd);
  return Scratch(mapped, Kind::file);
}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(kind_, other.kind_);
  return *this;
}

Scratch::~Scratch() {
  if (kind_ == Kind::none) return;
  if (kind_ == Kind::heap) {
    std::free(bytes_.data());
  } else {
    if (kind_ == Kind::file) forget_mapping(bytes_);
    ::munmap(bytes_.data(), bytes_.size());
  }
  if (kind_ != Kind::file) held_bytes.fetch_sub(bytes_.size(), std::memory_order_relaxed);
}

}  // namespace opdump
