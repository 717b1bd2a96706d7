#include "capture/reuse_table.h"

#include <utility>

namespace opdump::capture {
namespace {

constexpr unsigned kMaxLinks = 10'000;  // per file; ext4 allows 65000
constexpr std::size_t kMaxRecent = 16 * 1024;

}  // namespace

std::size_t ReuseTable::Hash::operator()(const ReuseKey& key) const {
  std::uint64_t h = key.content * 0x9E3779B97F4A7C15u ^ reinterpret_cast<std::uintptr_t>(key.data);
  for (const std::int64_t dim : key.shape.dims()) h = (h ^ static_cast<std::uint64_t>(dim)) * 0x100000001B3u;
  for (const std::int64_t stride : key.strides.dims())
    h = (h ^ static_cast<std::uint64_t>(stride)) * 0x100000001B3u;
  return h ^ h >> 29;
}

std::shared_ptr<Job> ReuseTable::find(const ReuseKey& key, std::int64_t step) {
  const std::lock_guard lock(mutex_);
  auto found = recent_.find(key);
  if (found == recent_.end()) {
    auto node = older_.extract(key);
    if (node.empty()) return nullptr;
    found = recent_.insert(std::move(node)).position;
  }
  Entry& entry = found->second;
  if (files_ && (entry.step != step || ++entry.uses > kMaxLinks)) return nullptr;
  return entry.job;
}

void ReuseTable::add(ReuseKey key, std::shared_ptr<Job> job, std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (recent_.size() >= kMaxRecent) forget_old();
  recent_.insert_or_assign(std::move(key), Entry{std::move(job), step, 0});
}

void ReuseTable::begin_step() {
  const std::lock_guard lock(mutex_);
  forget_old();
}

void ReuseTable::forget_old() {
  std::swap(older_, recent_);
  recent_.clear();
}

}  // namespace opdump::capture
