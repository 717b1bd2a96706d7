#include "base/resident.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace opdump {
namespace {

constexpr std::size_t kLeastMapping = 1 << 20;

struct Mappings {
  std::mutex mutex;  // guards `list`
  std::vector<std::span<const std::byte>> list;
  std::atomic<std::size_t> count{0};
  std::atomic<std::uint64_t> walked{0};
};

// The memory of the process is one thing, whoever maps a file. Never destroyed: threads may outlive main().
Mappings& mappings() {
  static auto* const all = new Mappings;
  return *all;
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
  for (const std::span<const std::byte> each : all.list)
    ::madvise(const_cast<std::byte*>(each.data()), each.size(), MADV_DONTNEED);
}

}  // namespace opdump
