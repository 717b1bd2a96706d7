#include "compare/measure/share.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/packing.h"
#include "compare/measure/packed_result.h"
#include "compare/names.h"

namespace opdump::compare {
namespace {

// Equal for processes that would measure the same.
std::string digest_of_dumps(const std::array<const dump::DumpSet*, 2>& dumps) {
  std::string seen;
  for (const dump::DumpSet* dump : dumps) {
    for (std::size_t i = 0; i < dump->runs().size(); ++i) {
      const dump::OperatorRun run = dump->runs().without_slots(i);
      group::note_seen(seen,
                       std::to_string(run.rank) + " " + std::to_string(run.step) + " " + operator_name(run));
      for (const dump::Slot& slot : dump->runs().slots(i))
        group::note_seen(seen,
                         slot_name(slot) + " " + std::to_string(slot.stored_bytes()) + " " +
                             (slot.file.empty() ? slot.undumped_reason
                                                : std::filesystem::path(slot.file).filename().string()));
    }
    for (const dump::Problem& problem : dump->problems()) group::note_seen(seen, problem.what);
  }
  return group::digest_of(seen);
}

// Fills in the results of one process. False if they are not whole.
bool take_results(std::span<Task> tasks, std::string_view bytes, std::vector<bool>& is_done) {
  Unpacker in(bytes);
  while (!in.is_empty()) {
    const auto index = in.number();
    SlotComparison result = unpack_result(in);
    if (!in.is_ok() || index >= tasks.size()) return false;
    SlotComparison& slot = *tasks[index].slot;
    result.golden = slot.golden;
    result.actual = slot.actual;
    result.sharded = slot.sharded;
    slot = std::move(result);
    is_done[index] = true;
  }
  return true;
}

}  // namespace

Result<group::SharedWork> join_comparison(const group::Share& share, const dump::DumpSet& golden,
                                          const dump::DumpSet& actual, std::uint64_t rounds) {
  OPDUMP_TRY(group::SharedWork shared,
             group::SharedWork::join(share, digest_of_dumps({&golden, &actual}), rounds));
  if (shared.takes_part()) return shared;
  OPDUMP_CHECK_OK(shared.skip_all());
  return Error(Code::internal, "this process sees other files than process 0");
}

Result<> share_tasks(group::SharedWork& work, std::span<Task> tasks, const CompareOptions& options,
                     std::uint64_t done, std::uint64_t total, std::vector<std::string>& incomplete) {
  const auto measure = [&](std::span<const std::size_t> pieces) {
    std::vector<Task*> own;
    for (const std::size_t i : pieces) own.push_back(&tasks[i]);
    run_tasks(own, options, done, total);
    std::string results;
    for (const std::size_t i : pieces) {
      Packer(results).number(i);
      pack_result(results, *tasks[i].slot);
    }
    return results;
  };
  std::vector<std::uint64_t> bytes;
  for (const Task& task : tasks) bytes.push_back(task.bytes);
  OPDUMP_TRY(const group::SharedAnswers shared, work.run(bytes, measure));

  std::vector<bool> is_done(tasks.size());
  for (const std::size_t rank : shared.workers)
    if (!take_results(tasks, shared.answers[rank], is_done))
      incomplete.push_back("process " + std::to_string(rank) + ": its result is incomplete");
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (is_done[i]) continue;
    tasks[i].slot->verdict = Verdict::unreadable;
    tasks[i].slot->reason = "process " + std::to_string(shared.owner[i]) + " returned no result: it died";
  }
  return ok();
}

}  // namespace opdump::compare
