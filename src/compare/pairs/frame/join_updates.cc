#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "compare/names.h"
#include "compare/pairs/frame/alignment.h"
#include "compare/pairs/frame/frame_pairing.h"
#include "compare/pairs/frame/updates.h"

namespace opdump::compare {

void FramePairing::join_updates() {
  const auto golden = find_updates(golden_), actual = find_updates(actual_);
  if (golden.size() < 2 || actual.size() < 2) return;
  std::map<std::vector<UpdateSource>, const ParameterUpdate*> by_sources;
  for (const ParameterUpdate& update : actual) by_sources.emplace(update.sources, &update);
  std::vector<std::pair<const ParameterUpdate*, const ParameterUpdate*>> same;
  bool are_in_order = true;
  for (const ParameterUpdate& update : golden) {
    auto sources = update.sources;
    for (UpdateSource& source : sources) source.maker = golden_.partners[source.maker];
    std::ranges::sort(sources);
    const auto found = by_sources.find(sources);
    if (found == by_sources.end()) continue;
    same.emplace_back(&update, found->second);
    const std::uint32_t partner = golden_.partners[update.operators.front()];
    are_in_order &= std::ranges::binary_search(found->second->operators, partner);
  }
  if (are_in_order) return;
  // All of the optimizer is paired anew: the updates of one parameter, then what belongs to none.
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    if (phase_of(golden_.run_of(g)) == model::Phase::optimizer) separate(g);
  const auto types_of = [](const FrameRuns& part) {
    std::vector<std::string> types;
    for (std::uint32_t i = 0; i < part.size(); ++i) types.push_back(part.run_of(i).type);
    return types;
  };
  const std::vector<std::string> golden_types = types_of(golden_), actual_types = types_of(actual_);
  const auto join_types = [&](const std::vector<std::uint32_t>& of_golden,
                              const std::vector<std::uint32_t>& of_actual) {
    std::map<std::string, std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> by_type;
    for (const std::uint32_t g : of_golden) by_type[golden_types[g]].first.push_back(g);
    for (const std::uint32_t a : of_actual) by_type[actual_types[a]].second.push_back(a);
    for (const auto& [type, both] : by_type) {
      const auto& [g, a] = both;
      const bool is_long = !a.empty() && g.size() > kMaxAlignment / a.size();
      if (g.size() != a.size() && !is_long)
        join_aligned(g, a, {golden_types, actual_types}, true);
      else
        for (std::size_t i = 0; i < std::min(g.size(), a.size()); ++i) join(g[i], a[i], PairedBy::alignment);
    }
  };
  for (const auto& [of_golden, of_actual] : same) join_types(of_golden->operators, of_actual->operators);
  const auto outside = [](const FrameRuns& part, const std::vector<ParameterUpdate>& updates) {
    std::vector<bool> is_inside(part.size());
    for (const ParameterUpdate& update : updates)
      for (const std::uint32_t i : update.operators) is_inside[i] = true;
    std::vector<std::uint32_t> rest;
    for (std::uint32_t i = 0; i < part.size(); ++i)
      if (!is_inside[i] && phase_of(part.run_of(i)) == model::Phase::optimizer) rest.push_back(i);
    return rest;
  };
  join_types(outside(golden_, golden), outside(actual_, actual));
}

}  // namespace opdump::compare
