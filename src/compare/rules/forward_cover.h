// On which part of the forward pass an answer rests. A module is covered if the results of one of its
// operators were compared: attention that one run computes in one operator and the other in eight is covered
// by what follows in its module; a network that the other run has under names of its own is not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compare/comparison.h"

namespace opdump::compare {

class ForwardCover {
 public:
  // Not for what one run need not have.
  void add(const OperatorComparison& op);
  // One run has compiled regions, and all their results were found in the other one: they cover what it ran.
  void cover_by_regions(bool of_golden) { (of_golden ? is_actual_covered_ : is_golden_covered_) = true; }
  // Of the operators that compute in the forward pass of the run that is covered less, the share in modules
  // that are covered, 0 to 1; 1 if there are none.
  double share() const;

 private:
  struct Counts {
    std::uint64_t golden = 0, actual = 0;
    bool is_covered = false;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, Counts, Hash, std::equal_to<>> modules_;
  bool is_golden_covered_ = false, is_actual_covered_ = false;
};

}  // namespace opdump::compare
