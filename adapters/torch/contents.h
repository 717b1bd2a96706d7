// Tells whether the bytes behind a tensor may have changed: every block of memory (StorageImpl) has a content
// number, and gets a new one with every write that the observer sees. That is what lets the recorder read a
// tensor once although ten operators use it. Memory that others may write unseen -- shared with numpy, with
// another process, or not torch's own -- has number 0.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <unordered_map>

namespace opdump::torch_adapter {

// Thread-safe.
class Contents {
 public:
  struct Content {
    std::uint64_t number = 0;    // 0: unknown, not to be borrowed
    bool uninitialised = false;  // nothing was written to it since it was allocated by an `empty` operator
    const char* name = nullptr;  // of the weight or input it holds; lives for ever
    bool is_weight = false;
  };
  Content find(c10::StorageImpl* storage);

  // What the program calls the tensor in it.
  void name(c10::StorageImpl* storage, const char* name, bool is_weight);

  // To be called after an operator wrote to it.
  void changed(c10::StorageImpl* storage, bool uninitialised = false);

  // Forgets everything but names: after a time in which writes were not observed.
  void clear();

 private:
  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // holds the address, not the memory
    Content content;
  };
  Entry& entry(c10::StorageImpl* storage);

  std::mutex mutex_;                               // guards the rest
  std::pmr::unsynchronized_pool_resource memory_;  // entries come and go by the thousand in each step
  std::pmr::unordered_map<c10::StorageImpl*, Entry> entries_{&memory_};
  std::uint64_t next_number_ = 1;
  std::size_t prune_at_ = 4096;
};

}  // namespace opdump::torch_adapter
