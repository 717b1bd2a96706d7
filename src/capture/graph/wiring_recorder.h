// Who made what each call reads. Each write of an operator to a block of memory leaves a mark there, with its
// place; the maker of an input is the last mark that has all of its elements:
//
//   a = relu(x)      block 7: [0,64) by relu
//   b = a[:2]        block 7: [0,64) by relu, [0,32) seen by slice
//   b.add_(1)        block 7: [0,64) by relu, [0,32) by add_
//   sum(a)           reads what relu made, changed by add_
//
// A block whose number of contents is not the one that its last mark left was written to by somebody unseen:
// all marks of it go, and nobody knows who made it until the next write. What is said of a maker is never a
// guess. Blocks that nobody uses any more are forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/graph/footprint.h"
#include "capture/operand.h"
#include "dump/wiring.h"

namespace opdump::capture {

struct DefinedOperator;

// What a call keeps of its inputs until it ends.
struct WiringCall {
  struct Block {
    std::uint64_t key = 0, version = 0;  // and the number of its contents
    auto operator<=>(const Block&) const = default;
  };
  const DefinedOperator* op = nullptr;
  std::int64_t step = 0;
  bool has_returned = false;       // before its outputs were there
  std::vector<Block> blocks = {};  // by key

  void clear() {
    has_returned = false;
    blocks.clear();
  }
};

// Thread-safe. Its lock is held for nothing else of the session.
class WiringRecorder {
 public:
  // Blocks that are known at a time, those of them that outlive steps without being used, and the marks of
  // one of them.
  static constexpr std::size_t kMaxBlocks = 1 << 16, kMaxIdle = 1 << 14, kMaxMarks = 64;

  // A call begins. Returns who made what it reads, unless that is as for the last call of its operator.
  std::optional<dump::CallWiring> begin(WiringCall& call, std::span<const Operand> inputs);
  // It has made its outputs.
  void end(const WiringCall& call, std::span<const Operand> outputs);

  std::size_t block_count() const;

 private:
  // What an operator wrote, or saw as a view.
  struct Mark {
    const DefinedOperator* op = nullptr;
    std::uint32_t output = 0;
    bool is_write = true, is_uninitialised = false, is_row_major = true;
    std::int64_t step = 0, offset = 0;  // of element 0, in bytes
    Footprint where = {};
  };
  struct Block {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    explicit Block(const allocator_type& allocator) : marks(allocator) {}

    std::uint64_t version = 0;     // of its contents, when they were last seen
    bool is_outside = false;       // what has no mark was made by no recorded operator; else nobody knows
    std::uint64_t last_use = 0;    // by WiringRecorder::uses_
    std::pmr::vector<Mark> marks;  // in order of execution

    void forget() {
      marks.clear();
      is_outside = false;
    }
    void add_write(Mark mark);
    void add_view(Mark mark);
    void trim();
  };
  // Where an operand is; key 0: nobody knows.
  struct Place {
    std::uint64_t key = 0, version = 0;
    std::int64_t offset = 0;
  };
  // Who made an input. Marks stay where they are while the lock is held and nothing is written.
  struct Origin {
    std::uint32_t index = 0;
    bool is_outside = false, is_overwritten = false, is_view = false;
    const Mark* maker = nullptr;
    std::size_t change_count = 0;
    std::array<const Mark*, dump::CallWiring::kMaxChanges> changes{};  // the last one first
    const Operand* operand = nullptr;
    std::int64_t offset = 0;

    bool is_known() const { return maker != nullptr || is_outside || change_count > 0; }
  };
  struct ValueKey {
    std::int64_t graph_id;
    std::uint64_t value;
    bool operator==(const ValueKey&) const = default;
  };
  struct ValueHash {
    std::size_t operator()(const ValueKey& key) const {
      return static_cast<std::size_t>(key.value * 0x9E3779B97F4A7C15u ^
                                      static_cast<std::uint64_t>(key.graph_id));
    }
  };

  static Place place_of(const Operand& operand);
  static void find_in_block(const Block& block, const Footprint& where, Origin& origin);
  static std::uint64_t hash(std::span<const Origin> origins, std::int64_t step);
  static dump::CallWiring::Maker describe(const Mark& mark, std::int64_t step);
  static dump::CallWiring describe(std::span<const Origin> origins, std::int64_t step);
  void enter_step(std::int64_t step);
  void evict(std::uint64_t unused_since);
  void evict_half();
  bool was_evicted(std::uint64_t key) const { return key <= last_evicted_; }
  void settle(const Place& place);
  Origin find(const WiringCall& call, const Operand& input) const;
  void note(const WiringCall& call, const Operand& output);

  mutable std::mutex mutex_;  // guards the rest, and what DefinedOperator keeps for it
  // Blocks live for some steps. Among tensors of the program they would leave holes in its memory that
  // nothing fits into when the tensors are gone.
  std::pmr::unsynchronized_pool_resource memory_;
  std::pmr::unordered_map<std::uint64_t, Block> blocks_{&memory_};
  std::unordered_map<ValueKey, Mark, ValueHash> values_;  // of this step, for engines that number values
  std::vector<Origin> origins_;                           // of the call that begins
  std::int64_t step_ = 0;
  std::uint64_t uses_ = 0;                                // of blocks so far
  std::uint64_t step_began_ = 0, step_before_began_ = 0;  // uses_ then
  std::uint64_t last_evicted_ = 0;                        // the highest key of a block that was
};

}  // namespace opdump::capture
