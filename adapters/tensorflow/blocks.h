// The identity of blocks of memory, by which graphs get their edges. The allocator hands out an address again
// when its block was released, so a block's number ends with the allocation. Memory of others, such as
// NumPy's, comes and goes unseen between two calls of functions: what no operator has made gets a new number
// in each.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "opdump/opdump.h"

namespace opdump::tensorflow_adapter {

struct Block {
  std::uint64_t number = 0;
  std::uint64_t version = 1;   // of what it holds
  const char* name = nullptr;  // of what it holds, if the program has one for it
  opdump_role role = OPDUMP_INPUT;
  bool is_made = false;    // by an operator
  std::uint64_t call = 0;  // in which it was last used
};

class Blocks {
 public:
  // The block that begins at `base`. A new one gets a number.
  Block find(const void* base);
  // `name` lives as long as the process.
  void name(const void* base, const char* name, opdump_role role);
  // An operator has written to the block that begins at `base`.
  void note_write(const void* base);
  bool is_known(const void* base);
  // The block was allocated or released.
  void forget(const void* base);
  // A function or a session is called.
  void begin_call() { call_.fetch_add(1, std::memory_order_relaxed); }
  // Between steps that are not recorded nothing is noted.
  void set_active(bool active);

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<const void*, Block> blocks;
  };
  // Its lock is held.
  Block& renew(Shard& shard, const void* base);
  Shard& shard(const void* base) {
    return shards_[(reinterpret_cast<std::uintptr_t>(base) >> 6) % shards_.size()];
  }

  std::array<Shard, 16> shards_;
  std::atomic<std::uint64_t> last_number_{0}, call_{0};
  std::atomic<bool> is_active_{false};
};

// Of the process: allocators outlive recordings.
Blocks& blocks();

}  // namespace opdump::tensorflow_adapter
