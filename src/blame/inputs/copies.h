// Operators that only actual has, and that copy: a program converts weights and data so to another precision.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "compare/comparison.h"
#include "compare/wiring/content.h"
#include "dump/read/runs.h"

namespace opdump::blame {

class Copies {
 public:
  explicit Copies(const dump::Runs& actual) : actual_(actual) {}

  // Operators are known by their places in `suspects`; `produced` has the outputs that differ so far.
  void note(std::span<const compare::OperatorComparison> suspects, std::uint32_t i,
            compare::ContentIndex& produced);

  // Says whether suspect `i` copies what an operator of both runs made.
  bool are_of_both(std::uint32_t i) const { return of_both_.contains(i); }
  // Returns the coarsest type on its way if suspect `i` copies what no recorded operator made, else nothing.
  std::optional<model::DType> type_of_data(std::uint32_t i) const;
  // A reader was blamed for these data: others are not again.
  void settle(std::uint32_t i);

 private:
  const dump::Runs& actual_;
  std::set<std::uint32_t> of_both_;
  std::map<std::uint32_t, model::DType> of_data_;
};

}  // namespace opdump::blame
