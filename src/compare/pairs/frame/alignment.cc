#include "compare/pairs/frame/alignment.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "math/stats/stats.h"

namespace opdump::compare {
namespace {

constexpr double kNear = 1e-3;
constexpr int kAllAlike = 6, kMostDigits = 7;

// 0 to kAllAlike: how many tensors begin with numbers that are nearly the same.
int likeness_of_tensors(const Surroundings& a, const Surroundings& b) {
  if (a.norms.empty() || a.norms.size() != b.norms.size()) return 0;
  std::size_t near = 0;
  for (std::size_t i = 0; i < a.norms.size(); ++i)
    near += a.norms[i] == b.norms[i] ||
            std::abs(a.norms[i] - b.norms[i]) <= kNear * std::max(a.norms[i], b.norms[i]);
  return static_cast<int>(kAllAlike * near / a.norms.size());
}

// 0 to kMostDigits: how many digits these numbers have in common, on average. Two calls of a layer are both
// near where the data are alike, as in training and evaluation.
int common_digits(const Surroundings& a, const Surroundings& b) {
  if (a.norms.empty() || a.norms.size() != b.norms.size()) return 0;
  double digits = 0;
  for (std::size_t i = 0; i < a.norms.size(); ++i) {
    const double apart = std::abs(a.norms[i] - b.norms[i]) / std::max(a.norms[i], b.norms[i]);
    if (a.norms[i] == b.norms[i])
      digits += kMostDigits;
    else if (apart > 0)
      digits += std::clamp(-std::log10(apart), 0.0, static_cast<double>(kMostDigits));
  }
  return static_cast<int>(digits / static_cast<double>(a.norms.size()));
}

int likeness(const Surroundings& a, const Surroundings& b) {
  const int of_calls = 1 + 4 * (a.shapes == b.shapes) + 2 * (a.before == b.before) +
                       2 * (a.after == b.after) + 2 * (a.source == b.source) + likeness_of_tensors(a, b);
  return (kMostDigits + 1) * of_calls + common_digits(a, b);
}

// Compilers evaluate arguments in different orders, and so operators may run in another order: those that
// have nothing in common with their partners get others whose tensors are all alike, if only one has such
// tensors.
void join_reordered(const std::vector<Surroundings>& a, const std::vector<Surroundings>& b,
                    std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  std::vector<bool> is_settled(b.size());
  const auto is_unlike = [&](const auto& pair) {
    const bool is_known =
        std::ranges::none_of(a[pair.first].norms, [](double norm) { return std::isnan(norm); });
    return is_known && likeness_of_tensors(a[pair.first], b[pair.second]) == 0;
  };
  for (const auto& pair : pairs) is_settled[pair.second] = !is_unlike(pair);
  for (auto& pair : pairs) {
    if (!is_unlike(pair)) continue;
    const Surroundings& mine = a[pair.first];
    std::optional<std::size_t> found;
    std::size_t count = 0;
    for (std::size_t j = 0; j < b.size(); ++j)
      if (!is_settled[j] && b[j].shapes == mine.shapes && likeness_of_tensors(mine, b[j]) == kAllAlike) {
        found = j;
        ++count;
      }
    if (count != 1) continue;
    const auto taken = std::ranges::find(pairs, *found, &std::pair<std::size_t, std::size_t>::second);
    if (taken != pairs.end()) taken->second = pair.second;
    pair.second = *found;
    is_settled[*found] = true;
  }
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

Pairs pair_names(const std::vector<Surroundings>& a, const std::vector<Surroundings>& b) {
  Pairs pairs;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const auto found = std::ranges::find(b, a[i].name, &Surroundings::name); found != b.end())
      pairs.emplace_back(i, static_cast<std::size_t>(found - b.begin()));
  return pairs;
}

}  // namespace

double sample_norm(const dump::Slot& slot) {
  constexpr std::uint64_t kSampleBytes = 64 << 10;
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (slot.file.empty() || !slot.member.empty() || slot.packing != dump::Packing::none) return kUnknown;
  const auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
  if (!tensor || !math::has_statistics(tensor->view().dtype)) return kUnknown;
  const auto pieces = math::split_view(tensor->view(), kSampleBytes);
  if (pieces.empty()) return kUnknown;
  return math::finish(math::partial_stats(pieces.front(), {.squares = true})).l2norm;
}

std::string neighbour_with_data(const dump::Runs& runs, std::size_t first,
                                const std::vector<std::string>& names, std::size_t i, int step) {
  for (i += static_cast<std::size_t>(step); i < names.size(); i += static_cast<std::size_t>(step))
    for (const dump::Slot& slot : runs.slots(first + i))
      if (slot.undumped_reason.empty()) return names[i];
  return {};
}

std::vector<std::pair<std::size_t, std::size_t>> align(const std::vector<Surroundings>& a,
                                                       const std::vector<Surroundings>& b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> best((a.size() + 1) * width);
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      best[i * width + j] = std::max({best[(i + 1) * width + j + 1] + likeness(a[i], b[j]),
                                      best[(i + 1) * width + j], best[i * width + j + 1]});
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int here = best[i * width + j];
    if (here == best[(i + 1) * width + j + 1] + likeness(a[i], b[j]))
      pairs.emplace_back(i++, j++);
    else
      here == best[(i + 1) * width + j] ? ++i : ++j;
  }
  join_reordered(a, b, pairs);
  const auto likeness_of = [&](const Pairs& all) {
    return std::transform_reduce(all.begin(), all.end(), 0, std::plus<>(),
                                 [&](const auto& pair) { return likeness(a[pair.first], b[pair.second]); });
  };
  Pairs names = pair_names(a, b);
  if (names.size() == std::min(a.size(), b.size()) && likeness_of(names) > likeness_of(pairs)) return names;
  return pairs;
}

}  // namespace opdump::compare
