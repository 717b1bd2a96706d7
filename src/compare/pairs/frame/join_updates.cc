#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "compare/names.h"
#include "compare/pairs/frame/alignment.h"
#include "compare/pairs/frame/frame_pairing.h"
#include "compare/pairs/frame/updates.h"

namespace opdump::compare {
namespace {

constexpr double kLikeNorms = 0.01;

// Whether an input was there before the backward pass of its step, as parameters and their moments are.
bool was_there(const dump::CallWiring& wiring, std::uint32_t input) {
  const dump::CallWiring::Input* const known = wiring.find(input);
  if (known == nullptr || !known->changed_by.empty()) return false;
  if (!known->maker) return known->is_outside;
  const std::string& name = known->maker->name;
  return known->maker->steps_before > 0 || !(name.starts_with(model::kGradients) || is_of_optimizer(name));
}

// How many of these inputs of two operators are not alike by their shapes and by the norms of their first
// elements.
std::uint64_t count_unlike(const FrameRuns& golden, std::uint32_t g, const FrameRuns& actual,
                           std::uint32_t a) {
  const auto wiring = golden.runs->wiring_of(golden.first + g);
  if (wiring == nullptr) return 0;
  std::map<std::uint32_t, dump::Slot> of_golden;
  for (const dump::Slot& slot : golden.runs->slots(golden.first + g))
    if (slot.side == model::Side::input && was_there(*wiring, slot.index))
      of_golden.emplace(slot.index, slot);
  std::uint64_t unlike = 0;
  for (const dump::Slot& slot : actual.runs->slots(actual.first + a)) {
    const auto same = of_golden.find(slot.index);
    if (slot.side != model::Side::input || same == of_golden.end()) continue;
    const double x = sample_norm(same->second), y = sample_norm(slot);
    const bool has_other_norm = std::abs(x - y) > kLikeNorms * (x + y);  // false if one is unknown
    unlike += has_other_norm || (slot.shape && same->second.shape && *slot.shape != *same->second.shape);
  }
  return unlike;
}

}  // namespace

void FramePairing::join_updates() {
  const auto golden = find_updates(golden_), actual = find_updates(actual_);
  if (golden.size() < 2 || actual.size() < 2) return;
  std::map<std::vector<UpdateSource>, const ParameterUpdate*> by_sources;
  for (const ParameterUpdate& update : actual) by_sources.emplace(update.sources, &update);
  std::vector<std::pair<const ParameterUpdate*, const ParameterUpdate*>> same;
  // A faulty run may have its gradients in another order; its parameters say that they are not exchanged.
  std::uint64_t unlike_by_number = 0, unlike_by_source = 0;
  for (const ParameterUpdate& update : golden) {
    auto sources = update.sources;
    for (UpdateSource& source : sources)
      if (source.name.empty()) source.maker = golden_.partners[source.maker];
    std::ranges::sort(sources);
    const auto found = by_sources.find(sources);
    if (found == by_sources.end()) continue;
    same.emplace_back(&update, found->second);
    const std::vector<std::uint32_t>& others = found->second->operators;
    for (std::size_t i = 0; i < update.operators.size(); ++i) {
      const std::uint32_t g = update.operators[i], partner = golden_.partners[g];
      if (partner == OperatorPair::kNone || std::ranges::binary_search(others, partner)) continue;
      unlike_by_number += count_unlike(golden_, g, actual_, partner);
      if (i < others.size()) unlike_by_source += count_unlike(golden_, g, actual_, others[i]);
    }
  }
  if (unlike_by_source >= unlike_by_number) return;
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
  for (const auto& [of_golden, of_actual] : same) {
    join_types(of_golden->operators, of_actual->operators);
    join_types(of_golden->counters, of_actual->counters);
  }
  const auto outside = [](const FrameRuns& part, const std::vector<ParameterUpdate>& updates) {
    std::vector<bool> is_inside(part.size());
    for (const ParameterUpdate& update : updates)
      for (const auto* const list : {&update.operators, &update.counters})
        for (const std::uint32_t i : *list) is_inside[i] = true;
    std::vector<std::uint32_t> rest;
    for (std::uint32_t i = 0; i < part.size(); ++i)
      if (!is_inside[i] && phase_of(part.run_of(i)) == model::Phase::optimizer) rest.push_back(i);
    return rest;
  };
  join_types(outside(golden_, golden), outside(actual_, actual));
}

}  // namespace opdump::compare
