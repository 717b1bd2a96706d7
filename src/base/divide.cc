#include "base/divide.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace opdump {

std::vector<std::size_t> divide_by_bytes(std::span<const std::uint64_t> bytes, std::size_t workers) {
  std::vector<std::size_t> order(bytes.size()), owner(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return bytes[i]; });
  std::vector<std::uint64_t> load(workers);
  for (const std::size_t i : order) {
    owner[i] = static_cast<std::size_t>(std::ranges::min_element(load) - load.begin());
    load[owner[i]] += bytes[i] + 1;  // one that is empty costs something, too
  }
  return owner;
}

}  // namespace opdump
