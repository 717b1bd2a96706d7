// What follows from choices between numbers that are equal within rounding, where two runs chose otherwise
// (choice.h): other rows go through an expert of a model, and none of what it makes of them can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <tuple>
#include <vector>

#include "compare/comparison.h"

namespace opdump::compare {

class Flips {
 public:
  // An output that differs, and follows from such a choice.
  void add(const OperatorComparison& op, const SlotComparison& output);
  // Whether an input is one of those, or a part of one that was made in the same step.
  bool contain(const OperatorComparison& op, const SlotComparison& input) const;

 private:
  static constexpr std::size_t kMostElements = 1 << 23;  // of the tensors whose parts are known
  using Print = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
  struct Known {
    std::size_t count = 0;
    std::vector<std::uint64_t> sorted;  // different ones
  };
  struct Tensors {
    std::uint32_t rank = 0;
    std::int64_t step = 0;
    Known golden, actual;

    std::size_t size() const { return golden.sorted.size() + actual.sorted.size(); }
  };
  static bool have_all(const Known& known, const std::vector<std::uint64_t>& elements, bool are_places);

  std::set<Print> prints_;
  std::deque<Tensors> of_step_;
  std::size_t kept_ = 0;  // elements in of_step_
};

}  // namespace opdump::compare
