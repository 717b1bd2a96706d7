#include <algorithm>
#include <map>

#include "base/text/text.h"
#include "base/worker_pool.h"
#include "weights/match/names.h"
#include "weights/match/steps.h"

namespace opdump::weights {
namespace {

using NamePair = std::pair<std::size_t, std::size_t>;  // golden, actual

// Names that `key` makes equal, if each side has them once.
template <typename Key>
std::vector<NamePair> find_equal(const Matching& matching, const Key& key) {
  struct Found {
    std::size_t index = 0, count = 0;
  };
  std::map<std::string, Found> golden, actual;
  for (const std::size_t i : matching.golden.free())
    if (Found& found = golden[key(matching.golden[i].name, true)]; ++found.count == 1) found.index = i;
  for (const std::size_t i : matching.actual.free())
    if (Found& found = actual[key(matching.actual[i].name, false)]; ++found.count == 1) found.index = i;
  std::vector<NamePair> pairs;
  for (const auto& [name, found] : golden) {
    const auto other = actual.find(name);
    if (found.count == 1 && other != actual.end() && other->second.count == 1 &&
        can_pair(matching.golden[found.index], matching.actual[other->second.index]))
      pairs.emplace_back(found.index, other->second.index);
  }
  return pairs;
}

// Takes the pairs in the order of golden. Most are equal as they are, which all cores find out together.
void take(Matching& matching, std::vector<NamePair> pairs) {
  std::ranges::sort(pairs);
  std::vector<LinkResult> results(pairs.size());
  parallel_for(pairs.size(), 0, [&](std::size_t i) {
    const auto [golden, actual] = pairs[i];
    if (matching.golden[golden].shape() != matching.actual[actual].shape()) return;
    WeightLink link{golden, actual, FoundBy::name, {}, {}, {}, 0};
    link.arrangement.runs = {{0, 0, matrix_of(matching.golden[golden].shape()).all_rows()}};
    results[i] = measure_pair(matching, std::move(link));
  });
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const bool is_measured = !results[i].link.arrangement.runs.empty();
    if (is_measured && results[i].is_equal())
      matching.add(std::move(results[i]));
    else
      matching.add(arrange_pair(matching, pairs[i].first, pairs[i].second, FoundBy::name));
  }
}

// What one side has before its names, as most of them say: {"encoder.", ""}.
std::pair<std::string, std::string> find_prefixes(const Matching& matching) {
  std::map<std::string, std::size_t> names;
  for (const std::size_t i : matching.actual.free()) names.emplace(plain_name(matching.actual[i].name), i);
  std::map<std::string, std::size_t> golden_names;
  for (const std::size_t i : matching.golden.free())
    golden_names.emplace(plain_name(matching.golden[i].name), i);
  std::map<std::pair<std::string, std::string>, std::size_t> votes;
  const auto vote = [&](const auto& longer, const auto& shorter, bool is_golden) {
    for (const auto& [name, index] : longer)
      for (std::size_t at = name.find('.'); at != std::string::npos; at = name.find('.', at + 1)) {
        const std::string rest = name.substr(at + 1);
        if (rest.find('.') == std::string::npos || !shorter.contains(rest)) continue;
        const std::string prefix = name.substr(0, at + 1);
        ++votes[is_golden ? std::pair(prefix, std::string()) : std::pair(std::string(), prefix)];
        break;
      }
  };
  vote(golden_names, names, true);
  vote(names, golden_names, false);
  const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  constexpr std::size_t kLeastVotes = 2;
  if (most == votes.end() || most->second < kLeastVotes) return {};
  return most->first;
}

}  // namespace

void pair_by_name(Matching& matching) {
  take(matching, find_equal(matching, [](const std::string& name, bool) { return name; }));
  take(matching, find_equal(matching, [](const std::string& name, bool) { return plain_name(name); }));
  const auto prefixes = find_prefixes(matching);  // of golden, of actual
  if (prefixes.first.empty() && prefixes.second.empty()) return;
  take(matching, find_equal(matching, [&](const std::string& name, bool is_golden) {
         const std::string plain = plain_name(name);
         const std::string& prefix = is_golden ? prefixes.first : prefixes.second;
         return plain.starts_with(prefix) ? plain.substr(prefix.size()) : plain;
       }));
}

}  // namespace opdump::weights
