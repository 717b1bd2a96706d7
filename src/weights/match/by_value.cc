#include <algorithm>
#include <map>
#include <set>

#include "base/text/natural_order.h"
#include "weights/match/names.h"
#include "weights/match/steps.h"

namespace opdump::weights {
namespace {

using model::DType;

constexpr std::size_t kMostAlike = 2000;  // tensors with the same elements

// What equal elements have in common, in whatever order.
using ContentKey = std::pair<std::uint64_t, std::uint64_t>;  // their number and sum

struct SameContent {
  std::vector<std::size_t> golden, actual;
};
using ByContent = std::map<ContentKey, SameContent>;

// Free tensors, and of those that may be something else the ones that have as many elements as one of
// `others`.
std::vector<std::size_t> candidates(const MatchSide& side, const MatchSide& others) {
  std::set<std::uint64_t> counts;
  for (const std::size_t i : others.free()) counts.insert(matrix_of(others[i].shape()).count());
  std::vector<std::size_t> indexes = side.free(true);
  std::erase_if(indexes, [&](std::size_t i) {
    return !side[i].is_sure && !counts.contains(matrix_of(side[i].shape()).count());
  });
  return indexes;
}

ByContent group(Matching& matching, DType rounding, bool is_simple) {
  ByContent groups;
  const auto add = [&](MatchSide& side, const MatchSide& other, std::vector<std::size_t> SameContent::*list) {
    const auto indexes = candidates(side, other);
    side.prepare(indexes, rounding);
    for (const std::size_t i : indexes)
      if (const WeightContent* content = side.content(i, rounding);
          content != nullptr && content->is_simple == is_simple && content->shape.count() > 0)
        (groups[{content->shape.count(), content->sum}].*list).push_back(i);
  };
  add(matching.golden, matching.actual, &SameContent::golden);
  add(matching.actual, matching.golden, &SameContent::actual);
  return groups;
}

// The narrow types that either side has.
std::set<DType> roundings(Matching& matching) {
  std::set<DType> types;
  const auto add = [&](MatchSide& side) {
    for (const std::size_t i : side.free()) {
      const DType dtype = side[i].dtype();
      if (model::is_floating(dtype) && model::dtype_info(dtype).bits < 32) types.insert(dtype);
      if (const WeightContent* content = side.content(i, DType::undefined);
          content != nullptr && content->precision != DType::float32)
        types.insert(content->precision);
    }
  };
  add(matching.golden);
  add(matching.actual);
  return types;
}

void sort_by_name(const MatchSide& side, std::vector<std::size_t>& indexes) {
  std::ranges::sort(indexes, NaturalLess(),
                    [&](std::size_t i) -> const std::string& { return side[i].name; });
}

// Whether equal elements that are of the same kind of parameter: a bias is no weight.
bool is_alike(const WeightTensor& golden, const WeightTensor& actual) {
  return golden.shape().rank() != 1 || actual.shape().rank() != 1 ||
         leaf_of(plain_name(golden.name)) == leaf_of(plain_name(actual.name));
}

void take_groups(Matching& matching, const ByContent& groups) {
  for (const auto& [key, same] : groups) {
    std::vector<std::size_t> goldens = same.golden, actuals = same.actual;
    sort_by_name(matching.golden, goldens);
    sort_by_name(matching.actual, actuals);
    goldens.resize(std::min(goldens.size(), kMostAlike));
    actuals.resize(std::min(actuals.size(), kMostAlike));
    for (const bool wants_alike : {true, false})
      for (const std::size_t g : goldens)
        for (const std::size_t a : actuals) {
          if (!matching.golden.is_free(g) || !matching.actual.is_free(a)) continue;
          if (!can_pair(matching.golden[g], matching.actual[a])) continue;
          if (wants_alike && !is_alike(matching.golden[g], matching.actual[a])) continue;
          LinkResult result = arrange_pair(matching, g, a, FoundBy::value);
          if (!result.is_equal()) continue;
          const std::size_t count = std::max(goldens.size(), actuals.size());
          if (count > 1)
            result.notes.push_back("one of " + std::to_string(count) + " with the same elements");
          matching.add(std::move(result));
        }
  }
}

}  // namespace

void pair_by_value(Matching& matching) {
  if (matching.golden.free().empty() || matching.actual.free().empty()) return;
  take_groups(matching, group(matching, DType::undefined, false));
  for (const DType rounding : roundings(matching)) {
    if (matching.golden.free().empty() || matching.actual.free().empty()) return;
    take_groups(matching, group(matching, rounding, false));
  }
}

void pair_simple(Matching& matching) {
  if (matching.golden.free().empty() || matching.actual.free().empty()) return;
  take_groups(matching, group(matching, DType::undefined, true));
}

}  // namespace opdump::weights
