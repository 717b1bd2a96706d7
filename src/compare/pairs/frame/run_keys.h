// Which executions of two dumps have the same key.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text_arena.h"

namespace opdump::compare {

// Holds executions by graph and a text; equal ones are in order.
class RunKeys {
 public:
  void add(std::uint32_t index, std::int64_t graph, std::string_view text) {
    keys_.push_back({graph, texts_.add(text), index});
  }

  // Calls `take` with those of both that are equal, in order. Call it once.
  template <typename Take>
  static void match(RunKeys& a, RunKeys& b, const Take& take) {
    std::sort(a.keys_.begin(), a.keys_.end());
    std::sort(b.keys_.begin(), b.keys_.end());
    for (auto left = a.keys_.begin(), right = b.keys_.begin();
         left != a.keys_.end() && right != b.keys_.end();) {
      const auto relation = left->without_index() <=> right->without_index();
      if (relation == 0) take(left->index, right->index);
      if (relation <= 0) ++left;
      if (relation >= 0) ++right;
    }
  }

 private:
  struct Key {
    std::int64_t graph = 0;
    ArenaText text = nullptr;
    std::uint32_t index = 0;
    std::pair<std::int64_t, std::string_view> without_index() const { return {graph, TextArena::view(text)}; }
    bool operator<(const Key& other) const {
      const auto relation = without_index() <=> other.without_index();
      return relation < 0 || (relation == 0 && index < other.index);
    }
  };
  TextArena texts_;
  std::vector<Key> keys_;
};

}  // namespace opdump::compare
