#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "weights/match/names.h"
#include "weights/match/parts.h"
#include "weights/match/steps.h"

namespace opdump::weights {
namespace {

// "a.in_proj_bias" of "a.in_proj_weight"; empty if it is no weight's name.
std::string bias_name(const std::string& weight) {
  const std::size_t at = weight.rfind("weight");
  if (at == std::string::npos || at + 6 != weight.size()) return {};
  return weight.substr(0, at) + "bias";
}

// A link of two other tensors that lie as those of `like` do. Nothing if their shapes do not allow it.
std::optional<LinkResult> link_like(Matching& matching, const WeightLink& like, std::size_t golden,
                                    std::size_t actual, FoundBy found_by) {
  const WeightTensor &g = matching.golden[golden], &a = matching.actual[actual];
  if (like.golden_part.empty() && like.actual_part.empty()) {
    if (!can_pair(g, a)) return std::nullopt;
    return arrange_pair(matching, golden, actual, found_by);
  }
  WeightLink link = like;
  link.golden = golden;
  link.actual = actual;
  link.found_by = found_by;
  MatrixShape of_golden = matrix_of(g.shape()), of_actual = matrix_of(a.shape());
  if (g.shape().rank() < 2) link.arrangement.golden_swapped = false;
  if (a.shape().rank() < 2) link.arrangement.actual_swapped = false;
  if (link.arrangement.golden_swapped) of_golden = of_golden.swapped();
  if (link.arrangement.actual_swapped) of_actual = of_actual.swapped();
  if (of_golden.columns != of_actual.columns) return std::nullopt;
  for (const RowRun& run : link.arrangement.runs)
    if (run.golden + (run.count - 1) * run.golden_step >= of_golden.all_rows() ||
        run.actual + (run.count - 1) * run.actual_step >= of_actual.all_rows())
      return std::nullopt;
  return measure_pair(matching, std::move(link));
}

using IndexByName = std::map<std::string, std::size_t>;

IndexByName index_names(const MatchSide& side) {
  IndexByName names;
  for (const std::size_t i : side.all()) names.emplace(side[i].name, i);
  return names;
}

std::optional<std::size_t> find_unused(const MatchSide& side, const IndexByName& names,
                                       const std::string& name) {
  const auto found = names.find(name);
  if (found == names.end() || side.is_used_up(found->second)) return std::nullopt;
  return found->second;
}

// How a weight of one layer is paired; the others go by it.
struct LayerExample {
  std::string golden_pattern, actual_pattern, golden_part, actual_part;
  std::int64_t offset = 0;  // of actual's layer
  auto key() const { return std::tie(golden_pattern, actual_pattern, golden_part, actual_part, offset); }
  bool operator<(const LayerExample& other) const { return key() < other.key(); }
};

}  // namespace

void pair_siblings(Matching& matching) {
  const IndexByName goldens = index_names(matching.golden), actuals = index_names(matching.actual);
  for (std::size_t i = 0; i < matching.links.size(); ++i) {
    const WeightLink like = matching.links[i].link;
    const std::string golden_name = bias_name(matching.golden[like.golden].name),
                      actual_name = bias_name(matching.actual[like.actual].name);
    if (golden_name.empty() || actual_name.empty()) continue;
    const auto golden = find_unused(matching.golden, goldens, golden_name),
               actual = find_unused(matching.actual, actuals, actual_name);
    if (!golden || !actual) continue;
    if (auto result = link_like(matching, like, *golden, *actual, FoundBy::sibling))
      matching.add(std::move(*result));
  }
}

void pair_like_other_layers(Matching& matching) {
  const IndexByName goldens = index_names(matching.golden), actuals = index_names(matching.actual);
  std::map<LayerExample, WeightLink> examples;
  for (const LinkResult& result : matching.links) {
    if (!result.distance.is_equal) continue;
    const LayerName golden = layer_name(matching.golden[result.link.golden].name),
                    actual = layer_name(matching.actual[result.link.actual].name);
    if (!golden.layer || !actual.layer) continue;
    LayerExample example{golden.pattern, actual.pattern, result.link.golden_part, result.link.actual_part,
                         static_cast<std::int64_t>(*actual.layer) - static_cast<std::int64_t>(*golden.layer)};
    examples.emplace(std::move(example), result.link);
  }
  std::map<std::string, std::vector<std::size_t>> free_of;  // by pattern
  for (const std::size_t i : matching.golden.all())
    if (!matching.golden.is_used_up(i)) free_of[layer_name(matching.golden[i].name).pattern].push_back(i);
  for (const auto& [example, like] : examples) {
    const auto found = free_of.find(example.golden_pattern);
    if (found == free_of.end()) continue;
    for (const std::size_t golden : found->second) {
      const auto layer = layer_name(matching.golden[golden].name).layer;
      if (!layer || matching.golden.is_used_up(golden)) continue;
      const auto actual = find_unused(matching.actual, actuals,
                                      name_in_layer(example.actual_pattern, *layer + example.offset));
      if (!actual) continue;
      if (auto result = link_like(matching, like, golden, *actual, FoundBy::layers))
        matching.add(std::move(*result));
    }
  }
}

namespace {

struct RoleKey {
  WeightRole role;
  std::optional<std::uint64_t> layer;
  std::string leaf;
  auto key() const { return std::tie(role, layer, leaf); }
  bool operator<(const RoleKey& other) const { return key() < other.key(); }
};
using ByRole = std::map<RoleKey, std::vector<std::size_t>>;

ByRole by_role(const MatchSide& side) {
  ByRole roles;
  for (const std::size_t i : side.free()) {
    const std::string plain = plain_name(side[i].name);
    std::string_view leaf = leaf_of(plain);
    if (leaf.ends_with("bias")) leaf = "bias";
    if (leaf.ends_with("weight")) leaf = "weight";
    if (const WeightRole role = role_of(plain); role != WeightRole::none)
      roles[{role, layer_name(plain).layer, std::string(leaf)}].push_back(i);
  }
  return roles;
}

struct MergedRoles {
  WeightRole whole;
  std::vector<WeightRole> parts;
};
const std::vector<MergedRoles>& merged_roles() {
  static const std::vector<MergedRoles> all{{WeightRole::qkv, {WeightRole::q, WeightRole::k, WeightRole::v}},
                                            {WeightRole::kv, {WeightRole::k, WeightRole::v}},
                                            {WeightRole::gate_up, {WeightRole::gate, WeightRole::up}}};
  return all;
}

// q, k and v one after the other, as most programs merge them.
void pair_parts_by_words(Matching& matching, const ByRole& parts_of, const ByRole& wholes_of,
                         bool golden_is_whole) {
  MatchSide& part_side = golden_is_whole ? matching.actual : matching.golden;
  MatchSide& whole_side = golden_is_whole ? matching.golden : matching.actual;
  for (const auto& [key, wholes] : wholes_of)
    for (const MergedRoles& merged : merged_roles()) {
      if (merged.whole != key.role || wholes.size() != 1 || !whole_side.is_free(wholes.front())) continue;
      const MatrixShape shape = matrix_of(whole_side[wholes.front()].shape());
      std::vector<PlacedPart> placed;
      std::uint64_t rows = 0;
      for (const WeightRole role : merged.parts) {
        const auto found = parts_of.find({role, key.layer, key.leaf});
        if (found == parts_of.end() || found->second.size() != 1) break;
        PlacedPart part{found->second.front(), {}};
        const MatrixShape part_shape = matrix_of(part_side[part.tensor].shape());
        if (!part_side.is_free(part.tensor) || part_shape.columns != shape.columns) break;
        part.place.offset = rows;
        part.place.rows = part_shape.all_rows();
        part.place.order.runs = {{0, rows, part_shape.all_rows()}};
        rows += part_shape.all_rows();
        placed.push_back(std::move(part));
      }
      if (placed.size() != merged.parts.size() || rows != shape.all_rows()) continue;
      for (const PlacedPart& part : placed)
        matching.add(measure_part(matching, part, wholes.front(), rows, {}, golden_is_whole, FoundBy::words));
    }
}

}  // namespace

void pair_by_words(Matching& matching) {
  const ByRole goldens = by_role(matching.golden), actuals = by_role(matching.actual);
  for (const auto& [key, indexes] : goldens) {
    const auto found = actuals.find(key);
    if (found == actuals.end() || indexes.size() != 1 || found->second.size() != 1) continue;
    if (can_pair(matching.golden[indexes.front()], matching.actual[found->second.front()]))
      matching.add(arrange_pair(matching, indexes.front(), found->second.front(), FoundBy::words));
  }
  pair_parts_by_words(matching, goldens, actuals, false);
  pair_parts_by_words(matching, actuals, goldens, true);
}

void pair_rest(Matching& matching) {
  using RestKey = std::tuple<std::vector<std::int64_t>, std::optional<std::uint64_t>, std::string>;
  std::map<RestKey, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> rest;
  const auto key_of = [](const WeightTensor& tensor) {
    std::vector<std::int64_t> dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
    std::ranges::sort(dims);
    const std::string plain = plain_name(tensor.name);
    return RestKey{std::move(dims), layer_name(plain).layer,
                   std::string(leaf_of(plain) == "bias" ? "bias" : "weight")};
  };
  for (const std::size_t i : matching.golden.free()) rest[key_of(matching.golden[i])].first.push_back(i);
  for (const std::size_t i : matching.actual.free()) rest[key_of(matching.actual[i])].second.push_back(i);
  for (const auto& [key, both] : rest) {
    if (both.first.size() != 1 || both.second.size() != 1) continue;
    const std::size_t golden = both.first.front(), actual = both.second.front();
    const WeightRole g = role_of(plain_name(matching.golden[golden].name)),
                     a = role_of(plain_name(matching.actual[actual].name));
    if (g != WeightRole::none && a != WeightRole::none && g != a) continue;
    if (can_pair(matching.golden[golden], matching.actual[actual]))
      matching.add(arrange_pair(matching, golden, actual, FoundBy::rest));
  }
}

}  // namespace opdump::weights
