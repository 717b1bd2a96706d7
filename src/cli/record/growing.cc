#include "cli/record/growing.h"

#include <algorithm>
#include <map>
#include <string>
#include <system_error>

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

}  // namespace

bool has_ended(const dump::DumpSet& recording, std::int64_t step) {
  struct Last {
    std::int64_t step = -1, graph = -1;
    bool has_two = false;
  };
  std::map<std::uint32_t, Last> ranks;
  const dump::Runs& runs = recording.runs();
  for (std::uint32_t i = 0; i < runs.section_count(); ++i) {
    const dump::Runs::Section& section = runs.section(i);
    Last& last = ranks[section.rank];
    last.has_two |= last.step >= 0 && last.step != section.step;
    if (section.step >= last.step) last = {section.step, section.graph_id, last.has_two};
  }
  return !ranks.empty() && std::ranges::all_of(ranks, [&](const auto& entry) {
    const auto& [rank, last] = entry;
    const bool is_alone = last.step == step && !last.has_two;
    return last.step > step + 1 || (is_alone && has_graph(recording, rank, last.graph));
  });
}

bool Growth::poll(const std::function<bool(const dump::DumpSet& recording)>& look) {
  const Clock::time_point begin = Clock::now();
  if (begin < next_) return false;
  bool found = false;
  std::error_code ignored;
  if (fs::is_directory(folder_, ignored))
    if (const auto recording = dump::DumpSetReader::read(folder_, {}, &read_)) found = look(*recording);
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(kLeastPause, kPause * (end - begin));
  return found;
}

}  // namespace opdump::cli
