#include "contents.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>

namespace opdump::torch_adapter {
namespace {

// Tensor.numpy() makes its storage fixed-size; memory from numpy, shared memory and foreign buffers have
// other allocators.
bool only_torch_writes(const c10::StorageImpl* storage) {
  return storage->resizable() && storage->allocator() == c10::GetDefaultCPUAllocator();
}

}  // namespace

Contents::Entry& Contents::entry(c10::StorageImpl* storage) {
  if (const auto found = entries_.find(storage); found != entries_.end()) return found->second;
  if (entries_.size() >= prune_at_) {
    std::erase_if(entries_, [](const auto& e) { return e.second.storage.expired(); });
    prune_at_ = std::max<std::size_t>(4096, entries_.size() * 2);
  }
  c10::raw::weak_intrusive_ptr::incref(storage);
  Entry fresh{c10::weak_intrusive_ptr<c10::StorageImpl>::reclaim(storage), {}};
  if (only_torch_writes(storage)) fresh.content.number = next_number_++;
  return entries_.emplace(storage, std::move(fresh)).first->second;
}

Contents::Content Contents::find(c10::StorageImpl* storage) {
  const bool is_ours = only_torch_writes(storage);  // that can change: a tensor becomes a numpy array
  const std::lock_guard lock(mutex_);
  Content& content = entry(storage).content;
  if (!is_ours) content.number = 0;
  return content;
}

void Contents::name(c10::StorageImpl* storage, const char* name, bool is_weight) {
  const std::lock_guard lock(mutex_);
  Content& content = entry(storage).content;
  content.name = name;
  content.is_weight = is_weight;
}

void Contents::changed(c10::StorageImpl* storage, bool uninitialised) {
  const bool is_ours = only_torch_writes(storage);
  const std::lock_guard lock(mutex_);
  Content& content = entry(storage).content;
  content.number = is_ours ? next_number_++ : 0;
  content.uninitialised = is_ours && uninitialised;
}

void Contents::clear() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& e) { return !e.second.content.name; });
  for (auto& [storage, entry] : entries_) {
    if (entry.content.number != 0) entry.content.number = next_number_++;
    entry.content.uninitialised = false;
  }
}

}  // namespace opdump::torch_adapter
