#include "compare/facts/unfinished.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "opdump/opdump.h"

namespace opdump::compare {
namespace {

// A collective that torch runs without an operator: what it gives is in the dump where an operator reads it.
bool is_unseen_collective(const dump::Loss& loss) { return loss.reason == OPDUMP_UNSEEN_COLLECTIVE; }

// Which gradients it gives is in the dump where an operator reads them.
bool is_unseen_backward(const dump::Loss& loss) { return loss.what == OPDUMP_UNSEEN_BACKWARD; }

// A recording writes step after step. Threads write the files of one while the next one runs.
std::int64_t first_open_step(const dump::Runs& runs, std::uint32_t rank) {
  std::int64_t last = 0;
  for (std::uint32_t i = 0; i < runs.section_count(); ++i)
    if (runs.section(i).rank == rank) last = std::max(last, runs.section(i).step);
  return last - 1;
}

// Why `dump` may not be whole; adds the ranks that lost something to `unfinished`, and to `cut` the step from
// which on those are not whole that stopped early. Collectives of ranks that hold shards are left out anyway.
void add_incomplete(std::string_view side, const dump::DumpSet& dump, bool is_sharded,
                    std::set<std::uint32_t>& unfinished, std::map<std::uint32_t, std::int64_t>& cut,
                    std::vector<std::string>& reasons) {
  const std::string name(side);
  for (const auto& [rank, status] : dump.statuses()) {
    const std::string where = name + " rank " + std::to_string(rank) + ": ";
    if (status.cut_step >= 0) {
      cut.emplace(rank, status.cut_step);
      reasons.push_back(where + "the program was interrupted in step " + std::to_string(status.cut_step));
    }
    if (status.state == "complete") continue;
    if (is_sharded && !status.losses.empty() && std::ranges::all_of(status.losses, is_unseen_collective))
      continue;
    if (status.state == "recording") {
      cut.emplace(rank, first_open_step(dump.runs(), rank));
      reasons.push_back(where + "the recording is unfinished: it was interrupted or is still running");
      continue;
    }
    unfinished.insert(rank);
    if (status.losses.empty()) reasons.push_back(where + "the recording is " + status.state);
    for (const dump::Loss& loss : status.losses)
      if (!is_unseen_backward(loss) && (!is_sharded || !is_unseen_collective(loss)))
        reasons.push_back(where + std::to_string(loss.count) + " x " + loss.what + " (" + loss.reason + ")" +
                          (loss.first.empty() ? "" : ", the first at " + loss.first));
  }
  for (const dump::Problem& problem : dump.problems())
    reasons.push_back(name + ": " + problem.path.string() + ": " + problem.what);
}

// A single rank is compared with a single rank, whatever their numbers.
void join_single_ranks(const dump::DumpSet& golden, const dump::DumpSet& actual, Unfinished& unfinished) {
  if (golden.statuses().size() != 1 || actual.statuses().size() != 1) return;
  const std::uint32_t g = golden.statuses().begin()->first, a = actual.statuses().begin()->first;
  if (unfinished.golden.contains(g)) unfinished.golden.insert(a);
  if (unfinished.actual.contains(a)) unfinished.actual.insert(g);
  if (unfinished.golden_cut.contains(g)) unfinished.golden_cut.emplace(a, unfinished.golden_cut[g]);
  if (unfinished.actual_cut.contains(a)) unfinished.actual_cut.emplace(g, unfinished.actual_cut[a]);
}

// What a log of DebugMode has behind the last step of an optimizer.
void add_tails_of_log(const dump::Runs& runs, Tails& tails) {
  std::map<std::uint32_t, std::int64_t> last_updates;  // by rank, the last step with an optimizer
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const dump::OperatorRun run = runs.without_slots(i);
    if (run.op != nullptr && run.op->phase == model::Phase::optimizer) last_updates[run.rank] = run.step;
  }
  for (const auto& [rank, step] : last_updates) tails.emplace(rank, step + 1);
}

}  // namespace

bool lacks_backward_of_regions(const dump::DumpSet& dump) {
  return std::ranges::any_of(dump.statuses(), [](const auto& of_rank) {
    return std::ranges::any_of(of_rank.second.losses, is_unseen_backward);
  });
}

Unfinished find_unfinished(const dump::DumpSet& golden, const dump::DumpSet& actual, bool is_sharded,
                           std::vector<std::string>& reasons) {
  Unfinished unfinished;
  add_incomplete("golden", golden, is_sharded, unfinished.golden, unfinished.golden_cut, reasons);
  add_incomplete("actual", actual, is_sharded, unfinished.actual, unfinished.actual_cut, reasons);
  join_single_ranks(golden, actual, unfinished);
  unfinished.golden_is_silent = !golden.runs().have_operators();
  unfinished.actual_is_silent = !actual.runs().have_operators();
  return unfinished;
}

std::string describe_unrecorded_steps(const dump::DumpSet& dump) {
  for (const auto& [rank, status] : dump.statuses()) {
    const std::int64_t first = status.first_step, last = status.last_step, reached = status.reached_step;
    if (first < 0) continue;
    if (reached <= last && status.lacks_tail)
      return "what ran after the last step, if anything did, is not recorded: opdump run --steps all records "
             "it";
    if (reached <= last) continue;
    const std::string recorded =
        first == last ? "only step " + std::to_string(first) + " is"
                      : "only steps " + std::to_string(first) + " to " + std::to_string(last) + " are";
    return recorded + " recorded, and the program ran to step " + std::to_string(reached) +
           ": opdump run --steps all records every one";
  }
  return {};
}

std::string describe_unrecorded_steps(const dump::DumpSet& golden, const dump::DumpSet& actual) {
  std::string steps = describe_unrecorded_steps(golden);
  return steps.empty() ? describe_unrecorded_steps(actual) : steps;
}

Tails find_tails(const dump::DumpSet& dump) {
  Tails tails;
  for (const auto& [rank, status] : dump.statuses()) tails.emplace(rank, status.tail_step);
  if (!dump.runs().have_full_scopes()) add_tails_of_log(dump.runs(), tails);
  return tails;
}

}  // namespace opdump::compare
