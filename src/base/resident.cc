#include "base/resident.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/file.h"

namespace opdump {
namespace {

constexpr std::size_t kLargeMapping = 64 << 20;  // whose file stays open
constexpr std::uint64_t kUsualBytes = 64 << 20;  // of libraries, that every process has mapped

struct Mapping {
  std::span<const std::byte> bytes;
  Fd fd;  // of large ones
};

struct Mappings {
  std::mutex mutex;  // guards `list` and `has_given_back`
  std::vector<Mapping> list;
  std::atomic<std::size_t> count{0};
  std::atomic<std::uint64_t> walked{0};
  std::atomic<std::uint64_t> kept{kUsualBytes};  // what was mapped when all was given back
  std::atomic<std::uint64_t> times{1};           // that all was given back, and one
  bool has_given_back = false;
};

// The memory of the process is one thing, whoever maps a file. Never destroyed: threads may outlive main().
Mappings& mappings() {
  static auto* const all = new Mappings;
  return *all;
}

// How much of mapped files is memory of this process; 0 if the system does not tell.
std::uint64_t mapped_bytes() {
  const Fd fd(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));  // "total resident shared ...", in pages
  std::array<char, 64> text{};
  if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
  char* rest = text.data();
  for (int skipped = 0; skipped < 2; ++skipped) std::strtoull(rest, &rest, 10);
  return std::strtoull(rest, nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// With the lock held.
void give_back(Mappings& all) {
  for (const auto& [bytes, fd] : all.list)
    ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_DONTNEED);
  all.times.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void note_mapping(std::span<const std::byte> mapped, const Fd& fd) {
  if (mapped.size() < kLeastMapping) return;
  Fd kept(mapped.size() < kLargeMapping ? -1 : ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  all.list.push_back({mapped, std::move(kept)});
  all.count = all.list.size();
}

void forget_mapping(std::span<const std::byte> mapped) {
  if (mapped.size() < kLeastMapping) return;
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.list, [&](const Mapping& each) { return each.bytes.data() == mapped.data(); });
  all.count = all.list.size();
}

void note_walk(std::uint64_t bytes) {
  Mappings& all = mappings();
  if (all.count.load(std::memory_order_relaxed) == 0) return;
  if (all.walked.fetch_add(bytes, std::memory_order_relaxed) + bytes < kResidentBytes) return;
  const std::unique_lock lock(all.mutex, std::try_to_lock);  // another thread does it
  if (!lock || all.walked.load(std::memory_order_relaxed) < kResidentBytes) return;
  all.walked = 0;
  give_back(all);
}

void note_jumps() {
  Mappings& all = mappings();
  if (all.count.load(std::memory_order_relaxed) == 0 || mapped_bytes() < all.kept + kResidentBytes) return;
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock) return;
  give_back(all);
  // Other threads may have taken some again meanwhile: the least is what libraries have.
  const std::uint64_t left = std::max(kUsualBytes, mapped_bytes());
  all.kept = all.has_given_back ? std::min<std::uint64_t>(all.kept, left) : left;
  all.has_given_back = true;
}

// A page that is touched brings the 2 MiB around it at most, and mostly much less. So a touch of 2 MiB that
// the thread has not touched since pages were given back counts as many.
void note_touch(const void* place) {
  constexpr unsigned kBetween = 1024, kFar = 16, kRegionBits = 21;
  constexpr std::size_t kRegions = 128;
  struct Touches {
    std::uint64_t times = 0;                         // Mappings::times
    std::array<std::uintptr_t, kRegions> regions{};  // some that were touched since
    unsigned count = 0;
  };
  thread_local Touches mine;
  if (const auto times = mappings().times.load(std::memory_order_relaxed); mine.times != times) {
    mine.times = times;
    mine.regions = {};
  }
  const std::uintptr_t region = reinterpret_cast<std::uintptr_t>(place) >> kRegionBits;
  mine.count += std::exchange(mine.regions[region % kRegions], region) == region ? 1 : kFar;
  if (mine.count < kBetween) return;
  mine.count = 0;
  note_jumps();
}

std::optional<MappingReader> MappingReader::find(std::span<const std::byte> bytes) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  const auto holds = [&](const Mapping& each) {
    return each.fd && bytes.data() >= each.bytes.data() &&
           bytes.data() < each.bytes.data() + each.bytes.size();
  };
  const auto found = std::ranges::find_if(all.list, holds);
  if (found == all.list.end()) return std::nullopt;
  return MappingReader(found->fd.get(), found->bytes.data());
}

void MappingReader::read(std::span<const std::byte> bytes, std::byte* to) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd_, to, bytes.size(), bytes.data() - begin_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    to += n;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  std::memcpy(to, bytes.data(), bytes.size());  // what cannot be read cannot be looked at either
}

}  // namespace opdump
