#include "contents.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

namespace opdump::torch_adapter {
namespace {

// For contents, blocks and epochs of all recordings of the process: blocks outlive these.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void let_go(void* block) { BlockPointer::reclaim(static_cast<Block*>(block)); }

// The block that hangs between a storage and its memory, hung now if there is none. Null for memory of others
// than torch's CPU allocator: who made it may know it again by its deleter, as torch does with shared memory.
// The pointer to the data stays what it is: threads may be reading there.
Block* hang_block(c10::StorageImpl* storage) {
  const at::DataPtr& memory = storage->data_ptr();
  if (auto* block = memory.cast_context<Block>(&let_go)) return block;
  if (!memory.get() || memory.get_deleter() != c10::GetDefaultCPUAllocator()->raw_deleter()) return nullptr;
  auto fresh = c10::make_intrusive<Block>();
  fresh->id = next_number();
  Block* block = fresh.release();
  block->memory = storage->set_data_ptr(at::DataPtr(memory.get(), block, &let_go, memory.device()));
  return block;
}

// Whether the storage may have a record, which holds it by a weak pointer: hardly anybody else does, so that
// no table is searched for the memory that an operator has just made.
bool may_have_record(c10::StorageImpl* storage) {
  return c10::intrusive_ptr<c10::StorageImpl>::unsafe_reclaim_from_nonowning(storage).weak_use_count() > 1;
}

// The program writes to it with operators only, as far as can be seen.
bool is_of_device(const c10::StorageImpl* storage) {
  const c10::Device device = storage->device();
  return !device.is_cpu() && device.type() != c10::DeviceType::Meta;
}

// Tensor.numpy() makes its storage fixed-size.
bool only_torch_writes(const c10::StorageImpl* storage) { return storage->resizable(); }

// A checksum reads memory about as fast as it comes.
std::uint64_t sum_words(const unsigned char* data, std::size_t size) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u;
  std::uint64_t sum = size * kOdd;
  while (size > 0) {
    std::uint64_t word = 0;
    const std::size_t count = std::min(size, sizeof word);
    std::memcpy(&word, data, count);
    sum = (std::rotl(sum, 29) ^ word) * kOdd;
    data += count;
    size -= count;
  }
  return sum;
}

}  // namespace

std::optional<std::uint64_t> sum_of(const c10::StorageImpl& storage) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  if (!storage.device().is_cpu() || !storage.data() || storage.nbytes() > kMost) return std::nullopt;
  return sum_words(static_cast<const unsigned char*>(storage.data()), storage.nbytes());
}

Contents::StorageRecord& Contents::record(c10::StorageImpl* storage) {
  if (const auto found = storages_.find(storage); found != storages_.end()) return found->second;
  if (storages_.size() >= prune_at_) {
    std::erase_if(storages_, [](const auto& e) { return e.second.storage.expired(); });
    prune_at_ = std::max<std::size_t>(4096, storages_.size() * 2);
  }
  c10::raw::weak_intrusive_ptr::incref(storage);
  StorageRecord fresh{c10::weak_intrusive_ptr<c10::StorageImpl>::reclaim(storage)};
  return storages_.emplace(storage, std::move(fresh)).first->second;
}

// What is known of it is of this epoch.
Block* Contents::block_of(c10::StorageImpl* storage) {
  Block* block = hang_block(storage);
  if (!block || block->epoch == epoch_) return block;
  block->epoch = epoch_;
  block->number = next_number();
  block->uninitialised = false;
  block->name = nullptr;
  if (!may_have_record(storage)) return block;
  if (const auto named = storages_.find(storage); named != storages_.end()) {
    block->name = named->second.name;
    block->is_weight = named->second.is_weight;
  }
  return block;
}

Contents::Content Contents::find(c10::StorageImpl* storage) {
  const std::lock_guard lock(mutex_);
  if (Block* block = block_of(storage)) {
    // That can change: a tensor becomes a numpy array.
    const bool is_known = only_torch_writes(storage) && block->writers == 0 && unknown_writers_ == 0;
    return {.number = is_known ? block->number : 0,
            .version = is_known ? block->number : 0,
            .uninitialised = is_known && block->uninitialised,
            .name = block->name,
            .is_weight = block->is_weight,
            .block = block->id,
            .owner = block};
  }
  StorageRecord& foreign = record(storage);
  if (foreign.block == 0 || foreign.data != storage->data_ptr().get()) {
    foreign.block = next_number();
    foreign.data = storage->data_ptr().get();
    foreign.epoch = 0;
  }
  if (foreign.epoch != epoch_) {
    foreign.epoch = epoch_;
    foreign.version = next_number();
  }
  return {.version = is_of_device(storage) && unknown_writers_ == 0 ? foreign.version : 0,
          .name = foreign.name,
          .is_weight = foreign.is_weight,
          .block = foreign.block};
}

void Contents::name(c10::StorageImpl* storage, const char* name, bool is_weight) {
  const std::lock_guard lock(mutex_);
  StorageRecord& named = record(storage);
  named.name = name;
  named.is_weight = is_weight;
  if (Block* block = block_of(storage)) {
    block->name = name;
    block->is_weight = is_weight;
  }
}

void Contents::changed(c10::StorageImpl* storage, bool uninitialised) {
  const std::lock_guard lock(mutex_);
  if (Block* block = block_of(storage)) {
    block->number = next_number();
    block->uninitialised = uninitialised;
  } else if (const auto foreign = storages_.find(storage); foreign != storages_.end()) {
    foreign->second.version = next_number();
  }
}

BlockPointer Contents::begin_write(c10::StorageImpl* storage) {
  const std::lock_guard lock(mutex_);
  Block* block = block_of(storage);
  if (!block) return {};
  ++block->writers;
  retain(block);
  return BlockPointer::reclaim(block);
}

void Contents::end_write(Block& block) {
  const std::lock_guard lock(mutex_);
  --block.writers;
  block.number = next_number();
  block.uninitialised = false;
}

void Contents::begin_unknown_write() {
  const std::lock_guard lock(mutex_);
  ++unknown_writers_;
}

void Contents::end_unknown_write() {
  const std::lock_guard lock(mutex_);
  --unknown_writers_;
  epoch_ = next_number();
}

void Contents::clear() {
  const std::lock_guard lock(mutex_);
  std::erase_if(storages_, [](const auto& e) { return !e.second.name; });
  epoch_ = next_number();
}

void Contents::retain(void* owner) { c10::raw::intrusive_ptr::incref(static_cast<Block*>(owner)); }
void Contents::release(void* owner) { let_go(owner); }

}  // namespace opdump::torch_adapter
