#include "capture/jobs/reuse_table.h"

#include <algorithm>
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
  if (key.content > newest_) return std::nullopt;
  const auto found = table_.find(key);
  if (found == table_.end()) return std::nullopt;
  Remembered& found_bytes = found->second;
  if (std::exchange(found_bytes.turn, turn_) != turn_) ++recent_;
  if (files_ && (found_bytes.step != step || ++found_bytes.uses > kMaxLinks)) return std::nullopt;
  return found_bytes.known;
}

void ReuseTable::add(const ReuseKey& key, KnownBytes known, std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (recent_ >= kMaxRecent) forget_old();
  newest_ = std::max(newest_, key.content);
  const auto [entry, is_new] = table_.try_emplace(key);
  if (is_new || entry->second.turn != turn_) ++recent_;
  entry->second = {std::move(known), step, 0, turn_};
}

void ReuseTable::begin_step() {
  const std::lock_guard lock(mutex_);
  forget_old();
}

void ReuseTable::forget_old() {
  std::erase_if(table_, [this](const auto& entry) { return entry.second.turn != turn_; });
  ++turn_;
  recent_ = 0;
}

}  // namespace opdump::capture
