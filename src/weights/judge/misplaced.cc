#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "weights/judge/judge.h"
#include "weights/match/names.h"

namespace opdump::weights {
namespace {

// The numbers in the names of a pair, and where it lies in a larger tensor: layer, expert.
struct NumberedLink {
  std::vector<std::uint64_t> golden, actual;
  LinkResult* result;
};
using NumberedLinks = std::vector<NumberedLink>;

// Says whether numbers only grow, or only fall: some programs count the blocks of a decoder backwards.
bool is_in_order(const std::vector<std::uint64_t>& numbers) {
  return std::ranges::is_sorted(numbers) || std::ranges::is_sorted(numbers, std::ranges::greater());
}

// Compares the order of layers, then of the experts of each layer, and so on.
void check_level(const NumberedLinks& links, std::size_t level) {
  constexpr std::size_t kLeast = 3;  // two in the other order may be counted backwards
  if (links.empty() || level >= links.front().golden.size()) return;
  std::map<std::uint64_t, NumberedLinks> groups;  // by golden's number
  for (const NumberedLink& link : links) groups[link.golden[level]].push_back(link);
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, group] : groups) {
    const std::uint64_t actual = group.front().actual[level];
    for (const NumberedLink& link : group)
      if (link.actual[level] != actual) return;  // the two sides count differently
    numbers.push_back(actual);
  }
  if (groups.size() >= kLeast && !is_in_order(numbers)) {
    std::vector<std::uint64_t> sorted = numbers;
    std::ranges::sort(sorted);
    std::size_t at = 0;
    for (const auto& [number, group] : groups) {
      if (numbers[at] != sorted[at])
        for (const NumberedLink& link : group)
          link.result->doubts.push_back("its place is that of another one: the order is not that of golden");
      ++at;
    }
  }
  for (const auto& [number, group] : groups) check_level(group, level + 1);
}

}  // namespace

void doubt_the_misplaced(Matching& matching) {
  std::map<std::pair<std::string, std::string>, NumberedLinks> by_pattern;
  for (LinkResult& result : matching.links) {
    // Of several with the same elements, which is which is anybody's choice.
    if (!result.is_equal() || !result.notes.empty()) continue;
    NumberedName golden = numbered_name(matching.golden[result.link.golden].name),
                 actual = numbered_name(matching.actual[result.link.actual].name);
    if (golden.numbers.size() > actual.numbers.size() && !result.link.actual_part.empty())
      actual.numbers.push_back(result.link.first_row);
    if (actual.numbers.size() > golden.numbers.size() && !result.link.golden_part.empty())
      golden.numbers.push_back(result.link.first_row);
    if (golden.numbers.size() != actual.numbers.size()) continue;
    by_pattern[{golden.pattern, actual.pattern}].push_back(
        {std::move(golden.numbers), std::move(actual.numbers), &result});
  }
  for (const auto& [patterns, links] : by_pattern) check_level(links, 0);
}

}  // namespace opdump::weights
