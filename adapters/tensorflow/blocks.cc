#include "blocks.h"

namespace opdump::tensorflow_adapter {

Block Blocks::find(const void* base) {
  Shard& s = shard(base);
  const std::lock_guard<std::mutex> lock(s.mutex);
  return renew(s, base);
}

Block& Blocks::renew(Shard& shard, const void* base) {
  Block& block = shard.blocks[base];
  const std::uint64_t call = call_.load(std::memory_order_relaxed);
  if (block.number == 0 || (!block.is_made && block.call != call)) block.number = ++last_number_;
  block.call = call;
  return block;
}

void Blocks::name(const void* base, const char* name, opdump_role role) {
  Shard& s = shard(base);
  const std::lock_guard<std::mutex> lock(s.mutex);
  Block& block = renew(s, base);
  block.name = name;
  block.role = role;
}

void Blocks::note_write(const void* base) {
  Shard& s = shard(base);
  const std::lock_guard<std::mutex> lock(s.mutex);
  Block& block = renew(s, base);
  ++block.version;
  block.is_made = true;
}

bool Blocks::is_known(const void* base) {
  Shard& s = shard(base);
  const std::lock_guard<std::mutex> lock(s.mutex);
  return s.blocks.count(base) > 0;
}

void Blocks::forget(const void* base) {
  if (!is_active_.load(std::memory_order_relaxed)) return;
  Shard& s = shard(base);
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.blocks.erase(base);
}

void Blocks::set_active(bool active) {
  if (is_active_.exchange(active) == active) return;
  for (Shard& s : shards_) {
    const std::lock_guard<std::mutex> lock(s.mutex);
    s.blocks.clear();
  }
}

Blocks& blocks() {
  static auto* const b = new Blocks;  // never destroyed: tensors are released until the very end
  return *b;
}

}  // namespace opdump::tensorflow_adapter
