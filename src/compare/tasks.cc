#include "compare/tasks.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "base/worker_pool.h"
#include "compare/measure.h"

namespace opdump::compare {
namespace {

// Two pairs of files with the same key give the same metrics: an operator's input is often a hard link to the
// output that another operator wrote.
using FileKey = std::array<std::uint64_t, 6>;

constexpr std::uint64_t kLargeBytes = 64 << 20;

std::uint64_t stat_pair(const SlotComparison& slot, FileKey& key, bool& linked) {
  std::uint64_t bytes = 0;
  linked = true;
  for (std::size_t side = 0; side < 2; ++side) {
    struct stat info {};
    const dump::Slot& slot_side = side == 0 ? *slot.golden : *slot.actual;
    if (slot_side.part) {
      bytes += slot_side.part->bytes;
      linked = false;
      continue;
    }
    if (slot_side.file.empty() || ::stat(slot_side.file.c_str(), &info) != 0) {
      linked = false;
      continue;
    }
    key[side * 2] = info.st_dev;
    key[side * 2 + 1] = info.st_ino;
    bytes += static_cast<std::uint64_t>(info.st_size);
    linked = linked && info.st_nlink > 1;
  }
  key[4] = static_cast<std::uint64_t>(slot.golden->dtype);
  key[5] = static_cast<std::uint64_t>(slot.actual->dtype);
  return bytes;
}

// A pair of tensors that is worth all threads alone.
bool is_large(const Task& task) { return task.bytes >= kLargeBytes; }

}  // namespace

std::vector<Task> make_tasks(std::vector<OperatorComparison>& operators) {
  std::vector<Task> tasks;
  std::map<FileKey, std::size_t> task_of;
  for (OperatorComparison& op : operators)
    for (SlotComparison& slot : op.slots) {
      Task task{&slot, 0, {}};
      FileKey key{};
      bool linked = false;
      if (slot.golden != nullptr && slot.actual != nullptr) task.bytes = stat_pair(slot, key, linked);
      const auto [found, is_new] =
          linked ? task_of.try_emplace(key, tasks.size()) : std::pair{task_of.end(), true};
      if (is_new)
        tasks.push_back(std::move(task));
      else
        tasks[found->second].copies.push_back(&slot);
    }
  return tasks;
}

void run_tasks(std::span<Task> tasks, const Options& options) {
  std::vector<Task*> all;
  all.reserve(tasks.size());
  for (Task& task : tasks) all.push_back(&task);
  run_tasks(std::span<Task* const>(all), options);
}

void run_tasks(std::span<Task* const> tasks, const Options& options) {
  std::uint64_t total = 0, done = 0;
  for (const Task* task : tasks) total += task->bytes;
  std::mutex progress_mutex;  // guards done, and the callback
  const auto tell = [&](std::uint64_t bytes) {
    if (!options.progress || bytes == 0) return;
    const std::lock_guard lock(progress_mutex);
    done += bytes;
    options.progress(done, total);
  };
  for (Task* task : tasks)
    if (is_large(*task)) {
      measure_slot(*task->slot, options, options.threads);
      tell(task->bytes);
    }
  const std::size_t at_once = pieces_at_once(tasks.size(), options.threads);
  parallel_for((tasks.size() + at_once - 1) / at_once, options.threads, [&](std::size_t part) {
    std::uint64_t bytes = 0;
    for (Task* task : tasks.subspan(part * at_once, std::min(at_once, tasks.size() - part * at_once))) {
      if (is_large(*task)) continue;
      measure_slot(*task->slot, options, 1);
      bytes += task->bytes;
    }
    tell(bytes);
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
