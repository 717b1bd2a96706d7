#include "cli/record/growing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "cli/diff/bits.h"
#include "dump/read/dump_set_reader.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto kLeastPause = std::chrono::seconds(1);
constexpr int kPause = 9;  // times what the last look took

bool has_graph(const dump::DumpSet& recording, std::uint32_t rank, std::int64_t graph) {
  const auto directory = recording.rank_directories().find(rank);
  std::error_code ignored;
  return directory != recording.rank_directories().end() &&
         fs::exists(directory->second / "execution_order" /
                        ("ms_execution_order_graph_" + std::to_string(graph) + ".csv"),
                    ignored);
}

// The last step of a rank.
struct LastStep {
  std::int64_t step = -1, graph = -1;
  bool has_two = false;  // there is an earlier one
};

std::map<std::uint32_t, LastStep> last_steps(const dump::DumpSet& recording) {
  std::map<std::uint32_t, LastStep> ranks;
  const dump::Runs& runs = recording.runs();
  for (std::uint32_t i = 0; i < runs.section_count(); ++i) {
    const dump::Runs::Section& section = runs.section(i);
    LastStep& last = ranks[section.rank];
    last.has_two |= last.step >= 0 && last.step != section.step;
    if (section.step >= last.step) last = {section.step, section.graph_id, last.has_two};
  }
  return ranks;
}

bool has_digests(const dump::DumpSet& recording) {
  for (const dump::OperatorRun& run : recording.runs())
    for (const dump::Slot& slot : run.slots)
      if (slot.has_data()) return !digest_of(slot).empty();
  return false;
}

}  // namespace

bool has_ended(const dump::DumpSet& recording, std::int64_t step) {
  const std::map<std::uint32_t, LastStep> ranks = last_steps(recording);
  return !ranks.empty() && std::ranges::all_of(ranks, [&](const auto& entry) {
    const auto& [rank, last] = entry;
    const bool is_alone = last.step == step && !last.has_two;
    return last.step > step + 1 || (is_alone && has_graph(recording, rank, last.graph));
  });
}

std::int64_t SameSoFar::look(dump::DumpSet& golden, dump::DumpSet& actual) {
  const std::int64_t begin = end_ - 1;
  const dump::LaterRuns later_golden = golden.hide_before(end_), later_actual = actual.hide_before(end_);
  if (!has_digests(golden) || !has_digests(actual)) return begin;
  if (const BitComparison bits = compare_bits(golden, actual); bits.first) {
    end_ = bits.first->step;
    return begin;
  }
  std::optional<std::int64_t> first;  // of the ranks' last steps, which may be growing
  for (const auto& [rank, last] : last_steps(actual)) first = std::min(first.value_or(last.step), last.step);
  end_ = std::max(end_, first.value_or(0) - 1);
  return begin;
}

bool Growth::poll(const std::function<bool(dump::DumpSet& recording)>& look) {
  const Clock::time_point begin = Clock::now();
  if (begin < next_) return false;
  bool found = false;
  std::error_code ignored;
  if (fs::is_directory(folder_, ignored))
    if (auto recording = dump::DumpSetReader::read(folder_, {}, &read_)) found = look(*recording);
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(kLeastPause, kPause * (end - begin));
  return found;
}

}  // namespace opdump::cli
