#include <algorithm>
#include <map>
#include <tuple>

#include "base/text/text.h"
#include "weights/judge/judge.h"
#include "weights/match/names.h"

namespace opdump::weights {
namespace {

bool is_swapped(const Arrangement& arrangement) {
  return arrangement.golden_swapped != arrangement.actual_swapped;
}

WeightRole role_in(const MatchSide& side, std::size_t index) { return role_of(plain_name(side[index].name)); }

// A matrix that is multiplied by, of which the shape does not say whether it is transposed.
void doubt_squares(Matching& matching) {
  std::size_t swapped = 0, as_is = 0;
  std::vector<LinkResult*> squares;
  for (LinkResult& result : matching.links) {
    const model::Shape &g = matching.golden[result.link.golden].shape(),
                       &a = matching.actual[result.link.actual].shape();
    if (g.rank() != 2 || a.rank() != 2 || !result.is_equal()) continue;
    const WeightRole role = role_in(matching.golden, result.link.golden);
    if (role == WeightRole::embedding ||
        role_in(matching.actual, result.link.actual) == WeightRole::embedding)
      continue;
    if (g[0] == g[1] && a[0] == a[1])
      squares.push_back(&result);
    else
      ++(is_swapped(result.link.arrangement) ? swapped : as_is);
  }
  constexpr std::size_t kLeast = 2;
  if ((swapped == 0) == (as_is == 0) || swapped + as_is < kLeast) return;
  for (LinkResult* const result : squares) {
    if (is_swapped(result->link.arrangement) == (swapped > 0)) continue;
    const WeightContent* const content =
        matching.golden.content(result->link.golden, model::DType::undefined);
    if (content == nullptr || content->is_simple || content->rows == content->columns) continue;
    result->doubts.push_back("a square matrix that is " + std::string(swapped > 0 ? "not " : "") +
                             "transposed, while all " + counted(swapped + as_is, "other", "are") +
                             (swapped > 0 ? "" : " not"));
  }
}

// How a pair lies, without what differs between layers for a reason.
std::string way_of(const LinkResult& result) {
  const Arrangement& way = result.link.arrangement;
  return std::string(is_swapped(way) ? "transposed" : "as it is") +
         (way.order.empty() ? "" : ", " + way.order) +
         (result.link.golden_part.empty() ? "" : ", golden " + result.link.golden_part) +
         (result.link.actual_part.empty() ? "" : ", actual " + result.link.actual_part);
}

// A sequence numbers layers of several kinds, as a matrix and the scale of a normalisation.
void doubt_layers(Matching& matching) {
  using Layers = std::tuple<std::string, std::string, std::size_t>;  // of a pattern of names, and axes
  std::map<Layers, std::map<std::string, std::vector<LinkResult*>>> ways;
  for (LinkResult& result : matching.links) {
    const LayerName golden = layer_name(matching.golden[result.link.golden].name),
                    actual = layer_name(matching.actual[result.link.actual].name);
    if (!golden.layer || !result.is_equal()) continue;
    const std::size_t axes = matching.golden[result.link.golden].shape().rank();
    ways[{golden.pattern, actual.pattern, axes}][way_of(result)].push_back(&result);
  }
  for (auto& [layers, by_way] : ways) {
    if (by_way.size() < 2) continue;
    std::size_t all = 0;
    for (const auto& [way, results] : by_way) all += results.size();
    const auto usual =
        std::ranges::max_element(by_way, {}, [](const auto& entry) { return entry.second.size(); });
    if (usual->second.size() * 4 < all * 3 && !(all == 3 && usual->second.size() == 2)) continue;
    for (auto& [way, results] : by_way)
      if (way != usual->first)
        for (LinkResult* const result : results) {
          const WeightContent* const content =
              matching.golden.content(result->link.golden, model::DType::undefined);
          if (content != nullptr && !content->is_simple)
            result->doubts.push_back("it lies otherwise than in the other layers: " + way + "; there " +
                                     usual->first);
        }
  }
}

// Scores are products of rows of q and k: both have the same rotary order.
void doubt_rotary(Matching& matching) {
  std::map<std::string, std::map<WeightRole, LinkResult*>> heads;
  for (LinkResult& result : matching.links) {
    const std::string& name = matching.golden[result.link.golden].name;
    WeightRole role = role_of(plain_name(name));
    std::string_view module = parent_of(parent_of(name));
    if (role == WeightRole::qkv) role = role_in(matching.actual, result.link.actual);
    if ((role != WeightRole::q && role != WeightRole::k) || leaf_of(name).ends_with("bias")) continue;
    if (result.is_equal()) heads[std::string(module)][role] = &result;
  }
  for (auto& [module, pair] : heads) {
    if (pair.size() != 2) continue;
    LinkResult &q = *pair.begin()->second, &k = *pair.rbegin()->second;
    const bool q_turns = !q.link.arrangement.order.empty(), k_turns = !k.link.arrangement.order.empty();
    if (q_turns == k_turns) continue;
    (q_turns ? k : q)
        .doubts.push_back("its rows keep their order, while those of " +
                          matching.golden[(q_turns ? q : k).link.golden].name +
                          " are in the other rotary order");
  }
}

// The name of a merged tensor says in which order its parts are.
void doubt_order_of_parts(Matching& matching) {
  std::map<std::pair<bool, std::size_t>, std::vector<LinkResult*>> wholes;
  for (LinkResult& result : matching.links) {
    if (!result.link.actual_part.empty()) wholes[{false, result.link.actual}].push_back(&result);
    if (!result.link.golden_part.empty()) wholes[{true, result.link.golden}].push_back(&result);
  }
  for (auto& [whole, parts] : wholes) {
    const auto& [is_golden, index] = whole;
    const WeightRole role = role_in(is_golden ? matching.golden : matching.actual, index);
    if (role != WeightRole::gate_up && role != WeightRole::qkv && role != WeightRole::kv) continue;
    std::ranges::sort(parts, {}, [](const LinkResult* part) { return part->link.first_row; });
    const auto name_of_part = [&, is_golden = is_golden](const LinkResult* part) -> const std::string& {
      return is_golden ? matching.actual[part->link.actual].name : matching.golden[part->link.golden].name;
    };
    const auto role_of_part = [&](const LinkResult* part) { return role_of(plain_name(name_of_part(part))); };
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const WeightRole before = role_of_part(parts[i - 1]), after = role_of_part(parts[i]);
      const bool are_known =
          (role == WeightRole::gate_up && before == WeightRole::up && after == WeightRole::gate) ||
          (role != WeightRole::gate_up && before <= WeightRole::v && after <= WeightRole::v &&
           before != WeightRole::none && after != WeightRole::none && before > after);
      // In a stack of experts the next one begins with gate again.
      const bool are_beside =
          parent_of(parent_of(name_of_part(parts[i - 1]))) == parent_of(parent_of(name_of_part(parts[i])));
      if (are_known && are_beside)
        parts[i]->doubts.push_back(
            "its rows come behind those of the part that the name of the whole has later");
    }
  }
}

}  // namespace

void doubt_the_odd(Matching& matching) {
  doubt_squares(matching);
  doubt_layers(matching);
  doubt_rotary(matching);
  doubt_order_of_parts(matching);
}

}  // namespace opdump::weights
