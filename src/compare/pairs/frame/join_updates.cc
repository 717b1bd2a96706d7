#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compare/names.h"
#include "compare/pairs/frame/alignment.h"
#include "compare/pairs/frame/frame_pairing.h"
#include "compare/pairs/frame/updates.h"

namespace opdump::compare {
namespace {

constexpr double kLikeNorms = 0.01;
constexpr std::uint64_t kMostCounted = 256;  // parts of updates, whose inputs show which order is right

// Whether an input was there before the backward pass of its step, as parameters and their moments are.
bool was_there(const dump::CallWiring& wiring, std::uint32_t input) {
  const dump::CallWiring::Input* const known = wiring.find(input);
  if (known == nullptr || !known->changed_by.empty()) return false;
  if (!known->maker) return known->is_outside;
  const std::string& name = known->maker->name;
  return known->maker->steps_before > 0 || !(name.starts_with(model::kGradients) || is_of_optimizer(name));
}

using Lists = std::unordered_map<std::uint32_t, ElementLists>;

// The inputs of an operator, or of one element of its lists: by the first of their list.
std::map<std::uint32_t, dump::Slot> inputs_of(const FrameRuns& part, const Lists& lists,
                                              const UpdatePart& of) {
  const auto known = lists.find(of.place);
  std::map<std::uint32_t, dump::Slot> inputs;
  for (const dump::Slot& slot : part.runs->slots(part.first + of.place)) {
    if (slot.side != model::Side::input) continue;
    const auto element = known == lists.end() ? std::nullopt : known->second.element_of_input(slot.index);
    if (!element || *element == of.element) inputs.emplace(slot.index - element.value_or(0), slot);
  }
  return inputs;
}

// How many of these inputs of two operators are not alike by their shapes and by the norms of their first
// elements.
std::uint64_t count_unlike(const dump::CallWiring* wiring, const std::map<std::uint32_t, dump::Slot>& golden,
                           const std::map<std::uint32_t, dump::Slot>& actual) {
  std::uint64_t unlike = 0;
  for (const auto& [list, slot] : actual) {
    const auto same = golden.find(list);
    if (wiring == nullptr || same == golden.end() || !was_there(*wiring, same->second.index)) continue;
    const double x = sample_norm(same->second), y = sample_norm(slot);
    const bool has_other_norm = std::abs(x - y) > kLikeNorms * (x + y);  // false if one is unknown
    unlike += has_other_norm || (slot.shape && same->second.shape && *slot.shape != *same->second.shape);
  }
  return unlike;
}

// Those of neither updates nor counters.
std::vector<UpdatePart> parts_outside(const FrameRuns& part, const Updates& updates) {
  std::vector<bool> is_inside(part.size());
  for (const ParameterUpdate& update : updates.of_parameters) {
    for (const UpdatePart& one : update.parts) is_inside[one.place] = true;
    for (const std::uint32_t i : update.counters) is_inside[i] = true;
  }
  std::vector<UpdatePart> rest;
  for (std::uint32_t i = 0; i < part.size(); ++i)
    if (!is_inside[i] && phase_of(part.run_of(i)) == model::Phase::optimizer) rest.push_back({i});
  return rest;
}

std::vector<UpdatePart> whole(const std::vector<std::uint32_t>& places) {
  std::vector<UpdatePart> parts;
  for (const std::uint32_t place : places) parts.push_back({place});
  return parts;
}

std::vector<std::uint32_t> places_of(const std::vector<UpdatePart>& parts) {
  std::vector<std::uint32_t> places;
  for (const UpdatePart& part : parts)
    if (places.empty() || places.back() != part.place) places.push_back(part.place);
  return places;
}

std::vector<std::string> types_of(const FrameRuns& part) {
  std::vector<std::string> types;
  for (std::uint32_t i = 0; i < part.size(); ++i) types.push_back(part.run_of(i).type);
  return types;
}

bool is_permutation_of_itself(const ElementOrder& order) {
  std::vector<bool> is_taken(order.size());
  for (const std::uint32_t element : order) {
    if (element >= order.size() || is_taken[element]) return false;
    is_taken[element] = true;
  }
  return true;
}

// The updates of one parameter in both. None if the numbers of operators tell as well which are the same: a
// faulty run may have its gradients in another order, and its parameters say that they are not exchanged.
std::vector<std::pair<const ParameterUpdate*, const ParameterUpdate*>> find_same(const FrameRuns& golden,
                                                                                 const Updates& of_golden,
                                                                                 const FrameRuns& actual,
                                                                                 const Updates& of_actual) {
  std::map<std::vector<UpdateSource>, const ParameterUpdate*> by_sources;
  for (const ParameterUpdate& update : of_actual.of_parameters) by_sources.emplace(update.sources, &update);
  std::vector<std::pair<const ParameterUpdate*, const ParameterUpdate*>> same;
  std::uint64_t unlike_by_number = 0, unlike_by_source = 0, counted = 0;
  for (const ParameterUpdate& update : of_golden.of_parameters) {
    auto sources = update.sources;
    for (UpdateSource& source : sources)
      if (source.name.empty()) source.maker = golden.partners[source.maker];
    std::ranges::sort(sources);
    const auto found = by_sources.find(sources);
    if (found == by_sources.end()) continue;
    same.emplace_back(&update, found->second);
    const std::vector<UpdatePart>& others = found->second->parts;
    for (std::size_t i = 0; i < update.parts.size() && counted < kMostCounted; ++i) {
      const UpdatePart& g = update.parts[i];
      const UpdatePart partner{golden.partners[g.place], g.element};
      if (partner.place == OperatorPair::kNone || std::ranges::binary_search(others, partner)) continue;
      ++counted;
      const auto wiring = golden.runs->wiring_of(golden.first + g.place);
      const auto inputs = inputs_of(golden, of_golden.lists, g);
      unlike_by_number += count_unlike(wiring.get(), inputs, inputs_of(actual, of_actual.lists, partner));
      if (i < others.size())
        unlike_by_source += count_unlike(wiring.get(), inputs, inputs_of(actual, of_actual.lists, others[i]));
    }
  }
  if (unlike_by_source >= unlike_by_number) same.clear();
  return same;
}

}  // namespace

void FramePairing::join_updates() {
  const Updates of_golden = find_updates(golden_), of_actual = find_updates(actual_);
  if (of_golden.of_parameters.size() < 2 || of_actual.of_parameters.size() < 2) return;
  const auto same = find_same(golden_, of_golden, actual_, of_actual);
  if (same.empty()) return;
  // All of the optimizer is paired anew: the updates of one parameter, then what belongs to none.
  for (std::uint32_t g = 0; g < golden_.size(); ++g)
    if (phase_of(golden_.run_of(g)) == model::Phase::optimizer) separate(g);
  const std::vector<std::string> golden_types = types_of(golden_), actual_types = types_of(actual_);
  // Operators with lists are joined once, and their elements one by one.
  const auto join_parts = [&](const UpdatePart& g, const UpdatePart& a) {
    const auto lists = of_golden.lists.find(g.place), others = of_actual.lists.find(a.place);
    const bool have_lists = lists != of_golden.lists.end() && others != of_actual.lists.end();
    const bool is_new = !is_joined(g.place) && actual_.partners[a.place] == kNone;
    const bool have_one_size = have_lists && lists->second.size() == others->second.size();
    // Lists are split where one run has more of them; else an element is in another list, which is a
    // difference.
    const std::string& type = golden_types[g.place];
    if (is_new && (!have_lists || have_one_size ||
                   std::ranges::count(golden_types, type) == std::ranges::count(actual_types, type)))
      join(g.place, a.place, PairedBy::alignment);
    if (!have_one_size || golden_.partners[g.place] != a.place) return;
    orders_.try_emplace(g.place, lists->second.size(), kNone).first->second[g.element] = a.element;
  };
  const auto list_size = [](const Updates& updates, std::uint32_t place) {
    const auto lists = updates.lists.find(place);
    return lists == updates.lists.end() ? 0 : lists->second.size();
  };
  // What belongs to no update is told apart by the sizes of its lists.
  const auto join_types = [&](const std::vector<UpdatePart>& golden, const std::vector<UpdatePart>& actual,
                              bool by_size) {
    using Kind = std::pair<std::string, std::uint32_t>;
    std::map<Kind, std::pair<std::vector<UpdatePart>, std::vector<UpdatePart>>> by_type;
    for (const UpdatePart& g : golden)
      by_type[{golden_types[g.place], by_size ? list_size(of_golden, g.place) : 0}].first.push_back(g);
    for (const UpdatePart& a : actual)
      by_type[{actual_types[a.place], by_size ? list_size(of_actual, a.place) : 0}].second.push_back(a);
    for (const auto& [type, both] : by_type) {
      const auto& [g, a] = both;
      const bool is_long = !a.empty() && g.size() > kMaxAlignment / a.size();
      if (g.size() != a.size() && !is_long)
        join_aligned(places_of(g), places_of(a), {golden_types, actual_types}, true);
      else
        for (std::size_t i = 0; i < std::min(g.size(), a.size()); ++i) join_parts(g[i], a[i]);
    }
  };
  for (const auto& [golden, actual] : same) {
    join_types(golden->parts, actual->parts, false);
    join_types(whole(golden->counters), whole(actual->counters), true);
  }
  join_types(parts_outside(golden_, of_golden), parts_outside(actual_, of_actual), true);
  std::erase_if(orders_, [](const auto& one) {
    return !is_permutation_of_itself(one.second) || std::ranges::is_sorted(one.second);
  });
}

}  // namespace opdump::compare
