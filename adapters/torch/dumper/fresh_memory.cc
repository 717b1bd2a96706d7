#include "dumper/fresh_memory.h"

#include <algorithm>
#include <utility>

#include "contents.h"

namespace opdump::torch_adapter {

void FreshMemory::note(c10::StorageImpl* storage) {
  made_.erase(storage);
  const auto sum = sum_of(*storage);
  if (!sum) return;
  if (made_.size() >= prune_at_) {
    std::erase_if(made_, [](const auto& entry) { return entry.second.storage.expired(); });
    prune_at_ = std::max<std::size_t>(4096, made_.size() * 2);
  }
  c10::raw::weak_intrusive_ptr::incref(storage);
  Made made{c10::weak_intrusive_ptr<c10::StorageImpl>::reclaim(storage), storage->data_ptr().get(), *sum};
  made_.emplace(storage, std::move(made));
}

bool FreshMemory::holds(c10::StorageImpl* storage) const {
  const auto found = made_.find(storage);
  return found != made_.end() && found->second.data == storage->data_ptr().get() &&
         sum_of(*storage) == found->second.sum;
}

}  // namespace opdump::torch_adapter
