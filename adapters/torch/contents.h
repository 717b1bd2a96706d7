// Detects whether the bytes of a tensor may have changed. Every block of memory has a content number, and
// each observed write gives it a new one. The recorder can therefore read a tensor once although ten
// operators use it. Memory that others may write unobserved (shared with NumPy or another process, or not
// allocated by torch) has number 0, and so has memory that is being written.
//
// The number belongs to the memory, not to the storage: a Block replaces torch's pointer to the allocation
// and owns it. An exchange of a storage's memory (share_memory_(), resize_(), FSDP, an operator with out=)
// removes the Block together with the old memory, so it cannot be missed. Borrowed memory lives until it is
// released, whatever the storage does meanwhile.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace opdump::torch_adapter {

// An allocation of torch's CPU allocator. Its owner for opdump_tensor.owner.
struct Block : c10::intrusive_ptr_target {
  at::DataPtr memory;
  std::uint64_t id = 0;  // never used twice in a process
  // Guarded by the mutex of the Contents that looks at it.
  std::uint64_t epoch = 0;     // of what is below
  std::uint64_t number = 0;    // of the content
  bool uninitialised = false;  // nothing was written to it since it was allocated by an `empty` operator
  int writers = 0;             // that write to it after their operators have returned
  const char* name = nullptr;
  bool is_weight = false;
};
using BlockPointer = c10::intrusive_ptr<Block>;

// A checksum of what lies in it; none if that cannot be read, or is too much to be read for each operator.
std::optional<std::uint64_t> sum_of(const c10::StorageImpl& storage);

// Thread-safe.
class Contents {
 public:
  Contents() { clear(); }

  struct Content {
    std::uint64_t number = 0;    // 0: unknown, not to be borrowed
    std::uint64_t version = 0;   // changes with each write; also of a device's memory; 0: unknown
    bool uninitialised = false;  // see Block
    const char* name = nullptr;  // of the weight or input it holds; lives for ever
    bool is_weight = false;
    std::uint64_t block = 0;  // identity of the memory
    Block* owner = nullptr;   // of the memory; null: it cannot be kept alive
  };
  Content find(c10::StorageImpl* storage);

  // What the program calls the tensor in it.
  void name(c10::StorageImpl* storage, const char* name, bool is_weight);

  // To be called after an operator wrote to it.
  void changed(c10::StorageImpl* storage, bool uninitialised = false);

  // Around a write that goes on after its operator has returned: the number is 0 meanwhile, and a new one
  // then. Null if the memory always has number 0.
  BlockPointer begin_write(c10::StorageImpl* storage);
  void end_write(Block& block);

  // Around writes to unknown memory: all numbers are 0 during the write, and new afterwards.
  void begin_unknown_write();
  void end_unknown_write();

  // Forgets everything but names: after a time in which writes were not observed.
  void clear();

  // For opdump_options; `owner` is a Block.
  static void retain(void* owner);
  static void release(void* owner);

 private:
  // Of a storage that has a name, or memory that no Block can hang on.
  struct StorageRecord {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // holds the address, not the memory
    const void* data = nullptr;
    std::uint64_t block = 0;
    std::uint64_t epoch = 0, version = 0;  // of a device's memory
    const char* name = nullptr;
    bool is_weight = false;
  };
  StorageRecord& record(c10::StorageImpl* storage);
  Block* block_of(c10::StorageImpl* storage);

  std::mutex mutex_;  // guards the rest
  std::unordered_map<c10::StorageImpl*, StorageRecord> storages_;
  std::uint64_t epoch_ = 0;  // blocks of another one have unknown contents
  int unknown_writers_ = 0;
  std::size_t prune_at_ = 4096;
};

}  // namespace opdump::torch_adapter
