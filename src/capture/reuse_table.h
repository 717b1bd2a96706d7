// What is already known of a piece of memory. Engines number the contents of their blocks
// (opdump_tensor.content), so that what one operator wrote and others read is looked at once, and its file is
// written once and linked to.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "capture/job.h"
#include "model/tensor_view.h"

namespace opdump::capture {

// The bytes a job looks at. Content numbers are never used twice, so an entry can become useless, but not
// wrong.
struct ReuseKey {
  std::uint64_t content;
  const std::byte* data;
  model::DType dtype;
  model::Shape shape, strides;
  bool operator==(const ReuseKey&) const = default;
};

// Thread-safe. Bounded: forgets what was not used for a step, or for a few ten thousand other tensors.
class ReuseTable {
 public:
  // `files`: jobs write files. These are shared within a step only, because people delete old steps while the
  // program runs, and by so many slots as a file system allows links.
  explicit ReuseTable(bool files) : files_(files) {}

  // The job that looked at these bytes, or null.
  std::shared_ptr<Job> find(const ReuseKey& key, std::int64_t step);

  // Replaces what was known of the bytes.
  void add(ReuseKey key, std::shared_ptr<Job> job, std::int64_t step);

  // What an optimizer wrote is what the next forward pass reads, so the step before is kept.
  void begin_step();

 private:
  struct Entry {
    std::shared_ptr<Job> job;
    std::int64_t step = 0;
    unsigned uses = 0;
  };
  struct Hash {
    std::size_t operator()(const ReuseKey& key) const;
  };
  using Entries = std::unordered_map<ReuseKey, Entry, Hash>;
  void forget_old();

  const bool files_;
  std::mutex mutex_;        // guards the rest
  Entries recent_, older_;  // what is used moves to recent_; older_ is forgotten as a whole
};

}  // namespace opdump::capture
