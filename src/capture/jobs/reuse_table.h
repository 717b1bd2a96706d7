// What is already known of a piece of memory. Engines number the contents of their blocks
// (opdump_tensor.content), so that what one operator wrote and others read is looked at once, and its file is
// written once and linked to.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "capture/jobs/job.h"
#include "math/stats/stats.h"
#include "model/tensor_view.h"

namespace opdump::capture {

// Which bytes, and in which order. Content numbers are never used twice, so what is known can become useless,
// but not wrong.
struct ReuseKey {
  std::uint64_t content;
  const std::byte* data;
  model::DType dtype;
  // The number of elements and 0, if they are all of a stretch of memory and their order does not matter;
  // else 128 bits that differ for other shapes and strides.
  std::array<std::uint64_t, 2> geometry;
  bool operator==(const ReuseKey&) const = default;
  struct Hash {
    std::size_t operator()(const ReuseKey& key) const;
  };

  static ReuseKey make(std::uint64_t content, const model::TensorView& view, bool order_matters);
};

// What was found out about them: by a job, or at once.
struct KnownBytes {
  std::shared_ptr<Job> job;  // null: statistics say it all
  math::Statistics statistics{};
};

// Thread-safe. Bounded: drops entries that were not used for a step, or for a few ten thousand other tensors.
class ReuseTable {
 public:
  // `files`: jobs write files. These are shared within a step only, because people delete old steps while the
  // program runs, and by so many slots as a file system allows links.
  explicit ReuseTable(bool files) : files_(files) {}

  std::optional<KnownBytes> find(const ReuseKey& key, std::int64_t step);

  // Replaces what was known of the bytes.
  void add(const ReuseKey& key, KnownBytes known, std::int64_t step);

  // What an optimizer wrote is what the next forward pass reads, so the step before is kept.
  void begin_step();

 private:
  struct Remembered {
    KnownBytes known;
    std::int64_t step = 0;
    unsigned uses = 0;
    std::uint64_t turn = 0;  // in which it was last used
  };
  void forget_old();

  const bool files_;
  std::mutex mutex_;                               // guards the rest
  std::pmr::unsynchronized_pool_resource memory_;  // entries come and go by the thousand in each step
  std::pmr::unordered_map<ReuseKey, Remembered, ReuseKey::Hash> table_{&memory_};
  std::uint64_t turn_ = 0;    // what was used neither in this one nor in the one before is forgotten
  std::size_t recent_ = 0;    // entries of this turn
  std::uint64_t newest_ = 0;  // the largest content so far: what an operator has just made is not looked for
};

}  // namespace opdump::capture
