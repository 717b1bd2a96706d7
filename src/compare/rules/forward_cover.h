// On which part of the forward pass an answer rests. A module is covered if the results of one of its
// operators, or of those of a module inside it, were compared: attention that one run computes in one
// operator and the other in eight is covered by what follows in its module; a network that the other run has
// under names of its own is not. A part of the network is covered, too, if operators of both runs or of such
// modules read all that leaves it, and it is no more than half of the forward pass. A part that only gives
// numbers is a loss, which one run may compute in a module and the other in none: gradients show whether it
// is right.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/comparison.h"
#include "compare/wiring/wiring.h"

namespace opdump::compare {

class ForwardCover {
 public:
  // Not for what one run need not have.
  void add(const OperatorComparison& op);
  // Covers the parts of the network of which all that leaves them is read by operators of both runs, `paired`
  // by their executions, where these agree.
  void cover_by_readers(bool of_golden, const Wiring& wiring, const std::vector<bool>& paired) {
    (of_golden ? golden_ : actual_).cover_by_readers(wiring, paired);
  }
  // One run has compiled regions, and all their results were found in the other one: they cover what it ran.
  void cover_by_regions(bool of_golden) { (of_golden ? actual_ : golden_).is_covered = true; }
  // Of the operators that compute in the forward pass of the run that is covered less, the share in modules
  // that are covered, 0 to 1; 1 if there are none.
  double share() const;

 private:
  struct Module {
    std::uint64_t operators = 0;
    bool is_covered = false;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  // One run, by the names that it has for its modules.
  struct OfRun {
    std::unordered_map<std::string, Module, Hash, std::equal_to<>> modules = {};
    bool is_covered = false;
    void add(const dump::OperatorRun& run, bool is_paired);
    void cover_by_readers(const Wiring& wiring, const std::vector<bool>& paired);
    double share() const;
    // Covered modules, and those that have them inside.
    std::set<std::string, std::less<>> covered() const;
  };
  OfRun golden_, actual_;
};

}  // namespace opdump::compare
