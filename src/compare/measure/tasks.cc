#include "compare/measure/tasks.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/worker_pool.h"
#include "compare/measure/measure.h"
#include "compare/measure/measure_parts.h"
#include "compare/measure/sharded/measure_shards.h"

namespace opdump::compare {
namespace {

// Two pairs of files with the same key give the same metrics: an operator's input is often a hard link to the
// output that another operator wrote.
using FileKey = std::vector<std::uint64_t>;

constexpr std::uint64_t kLargeBytes = 64 << 20;

void append_to_key(const SlotParts& parts, FileKey& key) {
  const auto append = [&](const model::Shape& numbers) {
    for (const std::int64_t number : numbers.dims()) key.push_back(static_cast<std::uint64_t>(number));
  };
  key.push_back(parts.left_out.empty() ? 0 : 1);
  for (const PartPlan& plan : parts.plans) {
    append(plan.golden.sizes);
    append(plan.actual.sizes);
    key.insert(key.end(), plan.order.begin(), plan.order.end());
    for (const TensorPart& part : plan.parts) {
      append(part.golden);
      append(part.actual);
      append(part.extent);
    }
  }
}

// Returns nothing if a file has one name only.
std::optional<FileKey> find_key(const SlotComparison& slot) {
  const dump::LinkedFile &golden = slot.golden->linked, &actual = slot.actual->linked;
  if (golden.inode == 0 || actual.inode == 0) return std::nullopt;
  FileKey key{golden.device,
              golden.inode,
              actual.device,
              actual.inode,
              static_cast<std::uint64_t>(slot.golden->dtype),
              static_cast<std::uint64_t>(slot.actual->dtype)};
  if (slot.parts != nullptr) append_to_key(*slot.parts, key);
  if (slot.sharded == nullptr) return key;
  std::vector<const dump::Slot*> shards = slot.sharded->slots;
  for (const ShardedSlot& other : slot.sharded->others)
    shards.insert(shards.end(), other.slots.begin(), other.slots.end());
  for (const dump::Slot* shard : shards) {
    if (shard == nullptr || shard->linked.inode == 0) return std::nullopt;
    key.insert(key.end(), {shard->linked.device, shard->linked.inode});
  }
  key.insert(key.end(), {std::uint64_t{slot.sharded->may_sum}, std::uint64_t{slot.sharded->scale != 1}});
  for (const auto& known : slot.sharded->known.placements) {
    key.push_back(known ? static_cast<std::uint64_t>(known->kind) : UINT64_MAX);
    if (known && known->kind == Placement::Kind::shard)
      key.insert(key.end(), {known->axis, static_cast<std::uint64_t>(known->blocks)});
  }
  return key;
}

// A pair of tensors that is worth all threads alone.
bool is_large(const Task& task) { return task.bytes >= kLargeBytes; }

}  // namespace

std::vector<Task> make_tasks(std::span<OperatorComparison> operators) {
  std::vector<Task> tasks;
  std::map<FileKey, std::size_t> task_of;
  for (OperatorComparison& op : operators)
    for (SlotComparison& slot : op.slots) {
      Task task{&slot, 0, {}};
      std::optional<FileKey> key;
      if (slot.golden != nullptr && slot.actual != nullptr) {
        task.bytes = slot.golden->stored_bytes() + slot.actual->stored_bytes();
        key = find_key(slot);
      }
      const auto [found, is_new] =
          key ? task_of.try_emplace(*key, tasks.size()) : std::pair{task_of.end(), true};
      if (is_new)
        tasks.push_back(std::move(task));
      else
        tasks[found->second].copies.push_back(&slot);
    }
  return tasks;
}

void run_tasks(std::span<Task* const> tasks, const CompareOptions& options, std::uint64_t done,
               std::uint64_t total) {
  std::mutex progress_mutex;  // guards done, and the callback
  const auto report = [&](std::uint64_t bytes) {
    if (!options.progress || bytes == 0) return;
    const std::lock_guard lock(progress_mutex);
    done += bytes;
    options.progress(done, total);
  };
  for (Task* task : tasks)
    if (is_large(*task)) {
      measure_slot(*task->slot, options, options.threads);
      report(task->bytes);
    }
  const std::size_t at_once = pieces_at_once(tasks.size(), options.threads);
  parallel_for((tasks.size() + at_once - 1) / at_once, options.threads, [&](std::size_t part) {
    std::uint64_t bytes = 0;
    for (Task* task : tasks.subspan(part * at_once, std::min(at_once, tasks.size() - part * at_once))) {
      if (is_large(*task)) continue;
      measure_slot(*task->slot, options, 1);
      bytes += task->bytes;
    }
    report(bytes);
  });
}

void copy_results(std::span<Task> tasks) {
  for (const Task& task : tasks)
    for (SlotComparison* copy : task.copies) {
      const dump::Slot *golden = copy->golden, *actual = copy->actual;
      *copy = *task.slot;
      copy->golden = golden;
      copy->actual = actual;
    }
}

}  // namespace opdump::compare
