// Memory to which nothing was written since an operator such as `empty` made it: its elements differ from run
// to run and mean nothing.
//
// Observed writes end that. Those that are not observed (of NumPy, of an extension of the program) are seen
// by a checksum of the memory, which is taken when it is made and when it is asked for.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace opdump::torch_adapter {

// Not thread-safe.
class FreshMemory {
 public:
  // An operator has made it and written nothing.
  void note(c10::StorageImpl* storage);
  // Before an operator writes to it.
  void forget(c10::StorageImpl* storage) { made_.erase(storage); }
  void clear() { made_.clear(); }

  bool holds(c10::StorageImpl* storage) const;

 private:
  struct Made {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // holds the address, not the memory
    const void* data = nullptr;
    std::uint64_t sum = 0;
  };
  std::unordered_map<c10::StorageImpl*, Made> made_;
  std::size_t prune_at_ = 4096;
};

}  // namespace opdump::torch_adapter
