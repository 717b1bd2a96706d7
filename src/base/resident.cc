#include "base/resident.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "base/file.h"

namespace opdump {
namespace {

constexpr std::size_t kLeastMapping = 1 << 20;
constexpr std::uint64_t kUsualBytes = 64 << 20;  // that a process has without mapped files

struct Mappings {
  std::mutex mutex;  // guards `list`
  std::vector<std::span<const std::byte>> list;
  std::atomic<std::size_t> count{0};
  std::atomic<std::uint64_t> walked{0};
  std::atomic<std::uint64_t> kept{kUsualBytes};  // what the process had when all was given back
};

// The memory of the process is one thing, whoever maps a file. Never destroyed: threads may outlive main().
Mappings& mappings() {
  static auto* const all = new Mappings;
  return *all;
}

// How much memory this process has; 0 if the system does not tell.
std::uint64_t resident_bytes() {
  const Fd fd(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));  // "total resident shared ...", in pages
  std::array<char, 64> text{};
  if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
  char* resident = nullptr;
  std::strtoull(text.data(), &resident, 10);
  return std::strtoull(resident, nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// With the lock held.
void give_back(const Mappings& all) {
  for (const std::span<const std::byte> each : all.list)
    ::madvise(const_cast<std::byte*>(each.data()), each.size(), MADV_DONTNEED);
}

bool is_same(std::span<const std::byte> a, std::span<const std::byte> b) { return a.data() == b.data(); }

}  // namespace

void note_mapping(std::span<const std::byte> mapped) {
  if (mapped.size() < kLeastMapping) return;
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  all.list.push_back(mapped);
  all.count = all.list.size();
}

void forget_mapping(std::span<const std::byte> mapped) {
  if (mapped.size() < kLeastMapping) return;
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.list, [&](std::span<const std::byte> each) { return is_same(each, mapped); });
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
  if (all.count.load(std::memory_order_relaxed) == 0 || resident_bytes() < all.kept + kResidentBytes) return;
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock) return;
  give_back(all);
  all.kept = std::max(kUsualBytes, resident_bytes());
}

}  // namespace opdump
