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
  Entry fresh{c10::weak_intrusive_ptr<c10::StorageImpl>::reclaim(storage), {next_number_++, false}};
  return entries_.emplace(storage, std::move(fresh)).first->second;
}

Contents::Content Contents::find(c10::StorageImpl* storage) {
  if (!only_torch_writes(storage)) return {};
  const std::lock_guard lock(mutex_);
  return entry(storage).content;
}

void Contents::changed(c10::StorageImpl* storage, bool uninitialised) {
  if (!only_torch_writes(storage)) return;
  const std::lock_guard lock(mutex_);
  entry(storage).content = {next_number_++, uninitialised};
}

void Contents::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace opdump::torch_adapter
