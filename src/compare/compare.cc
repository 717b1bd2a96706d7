#include "compare/compare.h"

#include <sys/stat.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "base/worker_pool.h"
#include "compare/measure.h"
#include "compare/names.h"
#include "compare/pairing.h"
#include "compare/verdict.h"

namespace opdump::compare {
namespace {

// Two pairs of files with the same key give the same metrics: an operator's input is often a hard link to the
// output that another operator wrote.
using FileKey = std::array<std::uint64_t, 6>;

constexpr std::uint64_t kLargeBytes = 64 << 20;

struct Task {
  SlotComparison* slot = nullptr;
  std::uint64_t bytes = 0;              // to read, for progress
  std::vector<SlotComparison*> copies;  // slots with the same files
};

std::uint64_t stat_pair(const SlotComparison& slot, FileKey& key, bool& linked) {
  std::uint64_t bytes = 0;
  linked = true;
  for (std::size_t side = 0; side < 2; ++side) {
    struct stat info {};
    const dump::Slot& slot_side = side == 0 ? *slot.golden : *slot.actual;
    if (slot_side.file.empty() || ::stat(slot_side.file.c_str(), &info) != 0) {
      linked = false;
      continue;
    }
    key[side * 2] = info.st_dev;
    key[side * 2 + 1] = info.st_ino;
    bytes += slot_side.part ? slot_side.part->bytes : static_cast<std::uint64_t>(info.st_size);
    linked = linked && info.st_nlink > 1 && !slot_side.part;
  }
  key[4] = static_cast<std::uint64_t>(slot.golden->dtype);
  key[5] = static_cast<std::uint64_t>(slot.actual->dtype);
  return bytes;
}

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

// A pair of tensors that is worth all threads alone.
bool is_large(const Task& task) { return task.bytes >= kLargeBytes; }

void run_tasks(std::span<Task> tasks, const Options& options) {
  std::uint64_t total = 0, done = 0;
  for (const Task& task : tasks) total += task.bytes;
  std::mutex progress_mutex;  // guards done, and the callback
  const auto run = [&](Task& task, unsigned threads) {
    measure_slot(*task.slot, options, threads);
    for (SlotComparison* copy : task.copies) {
      const dump::Slot *golden = copy->golden, *actual = copy->actual;
      *copy = *task.slot;
      copy->golden = golden;
      copy->actual = actual;
    }
    if (!options.progress || task.bytes == 0) return;
    const std::lock_guard lock(progress_mutex);
    done += task.bytes;
    options.progress(done, total);
  };
  for (Task& task : tasks)
    if (is_large(task)) run(task, options.threads);
  parallel_for(tasks.size(), options.threads, [&](std::size_t i) {
    if (!is_large(tasks[i])) run(tasks[i], 1);
  });
}

std::vector<OperatorComparison> make_operators(std::span<const OperatorPair> pairs) {
  std::vector<OperatorComparison> operators(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    OperatorComparison& op = operators[i];
    op.golden = pairs[i].golden;
    op.actual = pairs[i].actual;
    op.is_alone = pairs[i].is_alone;
    static const dump::OperatorRun kNothing;
    const auto slots = pair_slots(op.golden != nullptr ? *op.golden : kNothing,
                                  op.actual != nullptr ? *op.actual : kNothing);
    op.slots.resize(slots.size());
    for (std::size_t s = 0; s < slots.size(); ++s) {
      op.slots[s].golden = slots[s].golden;
      op.slots[s].actual = slots[s].actual;
    }
  }
  return operators;
}

// Why `dump` may not be whole; adds the ranks that stopped early to `unfinished`.
void add_incomplete(std::string_view side, const dump::DumpSet& dump, std::set<std::uint32_t>& unfinished,
                    std::vector<std::string>& reasons) {
  const std::string name(side);
  for (const auto& [rank, status] : dump.statuses()) {
    if (status.state == "complete") continue;
    unfinished.insert(rank);
    const std::string where = name + " rank " + std::to_string(rank) + ": ";
    if (status.state == "recording") {
      reasons.push_back(where + "the recording did not end: it was interrupted, or still runs");
      continue;
    }
    if (status.losses.empty()) reasons.push_back(where + "the recording is " + status.state);
    for (const dump::Loss& loss : status.losses)
      reasons.push_back(where + std::to_string(loss.count) + " x " + loss.what + " (" + loss.reason + ")" +
                        (loss.first.empty() ? "" : ", the first at " + loss.first));
  }
  for (const dump::Problem& problem : dump.problems())
    reasons.push_back(name + ": " + problem.path.string() + ": " + problem.what);
}

// "rank 0: steps 1-11 are only in actual"
void add_absent_steps(std::span<const OperatorComparison> operators, std::vector<std::string>& reasons) {
  std::map<std::pair<std::uint32_t, bool>, std::vector<std::int64_t>> steps;  // by rank, is in golden
  for (const OperatorComparison& op : operators)
    if (op.is_alone) steps[{op.run().rank, op.golden != nullptr}].push_back(op.run().step);
  for (auto& [key, numbers] : steps) {
    const std::string ranges = format_ranges(std::move(numbers));
    const bool is_one = ranges.find_first_of(",-") == std::string::npos;
    reasons.push_back("rank " + std::to_string(key.first) + ": " + (is_one ? "step " : "steps ") + ranges +
                      (is_one ? " is" : " are") + " only in " + (key.second ? "golden" : "actual"));
  }
}

// The texts of problems, which need not be told again for the slots they befell.
std::set<std::string_view> told_problems(const dump::DumpSet& golden, const dump::DumpSet& actual) {
  std::set<std::string_view> told;
  for (const dump::DumpSet* dump : {&golden, &actual})
    for (const dump::Problem& problem : dump->problems()) told.insert(problem.what);
  return told;
}

// What the slots of paired operators leave open: unreadable ones by name, inputs that only one side recorded
// by number -- a whole dump may be without inputs.
void add_open_questions(std::span<const OperatorComparison> operators, const std::set<std::string_view>& told,
                        std::vector<std::string>& reasons) {
  const auto is_told = [&](const dump::Slot* slot) {
    return slot != nullptr && told.contains(slot->undumped_reason);
  };
  std::uint64_t only_golden = 0, only_actual = 0;
  for (const OperatorComparison& op : operators) {
    if (op.golden == nullptr || op.actual == nullptr) continue;
    for (const SlotComparison& slot : op.slots) {
      if (slot.verdict == Verdict::unreadable && !is_told(slot.golden) && !is_told(slot.actual))
        reasons.push_back(operator_name(*op.golden) + " " + slot_name(slot) + ": " + slot.reason);
      only_golden += slot.actual == nullptr && slot.golden->side == model::Side::input;
      only_actual += slot.golden == nullptr && slot.actual->side == model::Side::input;
    }
  }
  if (only_golden > 0) reasons.push_back(std::to_string(only_golden) + " inputs are only in golden");
  if (only_actual > 0) reasons.push_back(std::to_string(only_actual) + " inputs are only in actual");
}

// A single rank is compared with a single rank, whatever their numbers.
void join_single_ranks(const dump::DumpSet& golden, const dump::DumpSet& actual, Unfinished& unfinished) {
  if (golden.statuses().size() != 1 || actual.statuses().size() != 1) return;
  const std::uint32_t g = golden.statuses().begin()->first, a = actual.statuses().begin()->first;
  if (unfinished.golden.contains(g)) unfinished.golden.insert(a);
  if (unfinished.actual.contains(a)) unfinished.actual.insert(g);
}

}  // namespace

math::Tolerance default_tolerance(model::DType dtype) {
  switch (dtype) {
    case model::DType::float16:
      return {1e-3, 1e-5};
    case model::DType::bfloat16:
      return {1.6e-2, 1e-5};
    case model::DType::float32:
    case model::DType::complex64:
      return {1.3e-6, 1e-5};
    case model::DType::float64:
    case model::DType::complex128:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

Result<Comparison> compare_dumps(const dump::DumpSet& golden, const dump::DumpSet& actual,
                                 const Options& options) {
  Comparison comparison;
  Pairing pairing = pair_operators(golden.runs(), actual.runs());
  comparison.notes = std::move(pairing.notes);
  comparison.operators = make_operators(pairing.pairs);
  std::vector<Task> tasks = make_tasks(comparison.operators);
  run_tasks(tasks, options);

  Unfinished unfinished;
  add_incomplete("golden", golden, unfinished.golden, comparison.incomplete);
  add_incomplete("actual", actual, unfinished.actual, comparison.incomplete);
  join_single_ranks(golden, actual, unfinished);
  for (OperatorComparison& op : comparison.operators) judge_operator(op, unfinished);
  add_absent_steps(comparison.operators, comparison.incomplete);
  add_open_questions(comparison.operators, told_problems(golden, actual), comparison.incomplete);
  judge_dumps(comparison, unfinished);
  return comparison;
}

}  // namespace opdump::compare
