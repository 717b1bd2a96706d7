#include "blame/substitution/exchanges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace opdump::blame {
namespace {

using compare::MadeTensor;
using compare::ResultGraph;
using compare::ResultNode;
using compare::StepPart;

constexpr std::size_t kMostPartners = 3;          // of golden for each line of actual
constexpr std::size_t kMostTensors = 64;          // of a line
constexpr std::uint64_t kMostElements = 1 << 22;  // of a tensor

struct PossibleExchange {
  Exchange exchange = {};
  double distance = 0;  // of the prints, on average
};

std::uint64_t count_of(const MadeTensor* made) { return made->print.exact.count; }

bool are_of_one_place(const LostLine& golden, const LostLine& actual) {
  return golden.part == actual.part && golden.steps_before == actual.steps_before;
}

// The first of a line's results with the first of golden's line that has its size.
std::optional<PossibleExchange> match_first(const LostLine& golden, const LostLine& actual) {
  const MadeTensor* const first = actual.results.front();
  for (const MadeTensor* g : golden.results)
    if (const double distance = compare::distance(g->print, first->print); std::isfinite(distance))
      return PossibleExchange{.exchange = {{g, first}}, .distance = distance};
  return std::nullopt;
}

// Each of actual's results with the one of golden's at its place if both lines have as many of the same
// sizes, else with that which is most alike; nothing if one has none of its size.
std::optional<PossibleExchange> match_all(const LostLine& golden, const LostLine& actual) {
  PossibleExchange candidate;
  std::set<const MadeTensor*> taken;
  const bool are_in_order = std::ranges::equal(golden.results, actual.results, {}, count_of, count_of);
  for (std::size_t i = 0; i < actual.results.size(); ++i) {
    const MadeTensor *const a = actual.results[i], *best = nullptr;
    double least = HUGE_VAL;
    for (std::size_t k = are_in_order ? i : 0; k < (are_in_order ? i + 1 : golden.results.size()); ++k) {
      const MadeTensor* const g = golden.results[k];
      const double distance = compare::distance(g->print, a->print);
      if (distance >= least || taken.contains(g)) continue;
      best = g;
      least = distance;
    }
    if (best == nullptr) return std::nullopt;
    taken.insert(best);
    candidate.exchange.emplace_back(best, a);
    candidate.distance += least / static_cast<double>(actual.results.size());
  }
  return candidate;
}

}  // namespace

std::vector<LostLine> find_lost_lines(const ResultGraph& run, std::uint32_t last) {
  const auto place_of = [&](std::uint32_t i) { return std::pair(run.step_of(i), run.part_of(i)); };
  const auto [last_step, last_part] = place_of(last);
  std::map<std::tuple<std::int64_t, StepPart, std::string, std::string>, LostLine> lines;
  for (std::uint32_t i = 0; i < run.nodes().size(); ++i) {
    const ResultNode& node = run.nodes()[i];
    const auto [step, part] = place_of(i);
    if (!node.is_lost || !node.is_telling || std::pair(step, part) > std::pair(last_step, last_part))
      continue;
    auto [source, type] = run.line_of(i);
    LostLine& line = lines[{step, part, std::move(source), std::move(type)}];
    line.part = part;
    line.steps_before = last_step - step;
    for (const MadeTensor& made : node.results)
      if (line.results.size() < kMostTensors && count_of(&made) <= kMostElements)
        line.results.push_back(&made);
  }
  std::vector<LostLine> found;
  for (auto& [key, line] : lines)
    if (!line.results.empty()) found.push_back(std::move(line));
  std::ranges::sort(found, {}, [](const LostLine& line) { return line.results.front()->execution; });
  return found;
}

std::vector<Exchange> choose_exchanges(std::span<const LostLine> golden, const LostLine& line) {
  std::vector<Exchange> chosen;
  for (const auto& match : {match_first, match_all}) {
    std::vector<PossibleExchange> candidates;
    for (const LostLine& other : golden)
      if (auto candidate = are_of_one_place(other, line) ? match(other, line) : std::nullopt)
        candidates.push_back(std::move(*candidate));
    std::ranges::stable_sort(candidates, {}, &PossibleExchange::distance);
    if (candidates.size() > kMostPartners) candidates.resize(kMostPartners);
    for (PossibleExchange& candidate : candidates) chosen.push_back(std::move(candidate.exchange));
    if (line.results.size() == 1) break;
  }
  return chosen;
}

}  // namespace opdump::blame
