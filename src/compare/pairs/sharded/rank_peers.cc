#include "compare/pairs/sharded/rank_peers.h"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace opdump::compare {
namespace {

struct Range {
  std::uint32_t first = 0, last = 0;
  std::uint32_t size() const { return last - first; }
};

// The executions of a step of a rank.
using Steps = std::map<std::pair<std::uint32_t, std::int64_t>, Range>;

Steps steps_of(const dump::Runs& runs) {
  Steps steps;
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    const dump::Runs::Section& section = runs.section_of(i);
    Range& range = steps.try_emplace({section.rank, section.step}, Range{i, i}).first->second;
    range.last = i + 1;
  }
  return steps;
}

std::string name_of(const dump::Runs& runs, std::uint32_t index) { return runs.without_slots(index).name; }

// Partners of `first`, from peers[0] on: by names, of equal ones in order.
void match(const dump::Runs& runs, const Range& first, const Range& other, std::uint32_t* peers) {
  bool is_equal = first.size() == other.size();
  for (std::uint32_t i = 0; is_equal && i < first.size(); ++i)
    is_equal = name_of(runs, first.first + i) == name_of(runs, other.first + i);
  if (is_equal) {
    for (std::uint32_t i = 0; i < first.size(); ++i) peers[i] = other.first + i;
    return;
  }
  std::unordered_map<std::string, std::vector<std::uint32_t>> open;
  for (std::uint32_t i = other.last; i-- > other.first;) open[name_of(runs, i)].push_back(i);
  for (std::uint32_t i = 0; i < first.size(); ++i) {
    const auto found = open.find(name_of(runs, first.first + i));
    if (found == open.end() || found->second.empty()) continue;
    peers[i] = found->second.back();
    found->second.pop_back();
  }
}

}  // namespace

RankPeers::RankPeers(const dump::Runs& runs) {
  const Steps steps = steps_of(runs);
  for (const auto& [key, range] : steps)
    if (ranks_.empty() || ranks_.back() != key.first) ranks_.push_back(key.first);
  if (ranks_.empty()) return;
  std::uint32_t count = 0;  // of executions of the first rank, which lie before all others
  for (const auto& [key, range] : steps)
    if (key.first == ranks_[0]) count = range.last;
  peers_.assign(ranks_.size() - 1, std::vector<std::uint32_t>(count, kNone));
  for (const auto& [key, range] : steps) {
    if (key.first != ranks_[0]) continue;
    for (std::size_t r = 1; r < ranks_.size(); ++r)
      if (const auto other = steps.find({ranks_[r], key.second}); other != steps.end())
        match(runs, range, other->second, peers_[r - 1].data() + range.first);
  }
  firsts_.assign(runs.size(), kNone);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (runs.section_of(i).rank == ranks_[0]) firsts_[i] = i;
    for (const auto& of_rank : peers_)
      if (of_rank[i] != kNone) firsts_[of_rank[i]] = i;
  }
}

std::vector<std::uint32_t> RankPeers::of(std::uint32_t index) const {
  const std::uint32_t first = firsts_[index];
  if (first == kNone) return {};
  std::vector<std::uint32_t> all{first};
  for (const auto& of_rank : peers_) all.push_back(of_rank[first]);
  return all;
}

}  // namespace opdump::compare
