#include "capture/jobs/reuse_table.h"

#include <utility>

namespace opdump::capture {
namespace {

constexpr unsigned kMaxLinks = 10'000;  // per file; ext4 allows 65000
constexpr std::size_t kMaxRecent = 16 * 1024;

}  // namespace

ReuseKey ReuseKey::make(std::uint64_t content, const model::TensorView& view, bool order_matters) {
  ReuseKey key{content, view.data, view.dtype, {}};
  if (!order_matters && view.is_dense()) {
    key.geometry[0] = view.element_count();
    return key;
  }
  std::uint64_t a = 0xCBF29CE484222325u, b = 0x9E3779B97F4A7C15u;
  const auto add = [&](std::int64_t number) {
    a = (a ^ static_cast<std::uint64_t>(number)) * 0x100000001B3u;
    b = (b + static_cast<std::uint64_t>(number)) * 0xD6E8FEB86659FD93u;
    a ^= a >> 29;
    b ^= b >> 32;
  };
  add(static_cast<std::int64_t>(view.shape.rank()));
  for (const std::int64_t dim : view.shape.dims()) add(dim);
  for (const std::int64_t stride : view.strides.dims()) add(stride);
  key.geometry = {a, b | 1};
  return key;
}

std::size_t ReuseKey::Hash::operator()(const ReuseKey& key) const {
  const std::uint64_t h = (key.content ^ key.geometry[0] << 20 ^ key.geometry[1]) * 0x9E3779B97F4A7C15u ^
                          reinterpret_cast<std::uintptr_t>(key.data);
  return h ^ h >> 29;
}

std::optional<KnownBytes> ReuseTable::find(const ReuseKey& key, std::int64_t step) {
  const std::lock_guard lock(mutex_);
  auto found = recent_.find(key);
  if (found == recent_.end()) {
    auto node = older_.extract(key);
    if (node.empty()) return std::nullopt;
    found = recent_.insert(std::move(node)).position;
  }
  Remembered& found_bytes = found->second;
  if (files_ && (found_bytes.step != step || ++found_bytes.uses > kMaxLinks)) return std::nullopt;
  return found_bytes.known;
}

void ReuseTable::add(const ReuseKey& key, KnownBytes known, std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (recent_.size() >= kMaxRecent) forget_old();
  recent_.insert_or_assign(key, Remembered{std::move(known), step, 0});
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
