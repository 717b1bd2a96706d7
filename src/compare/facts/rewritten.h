// Modules in which each run has operators of its own, in one step: another way to compute the same, as long
// as what follows is the same.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "compare/operator_pair.h"
#include "dump/read/operator_run.h"
#include "dump/read/runs.h"

namespace opdump::compare {

class RewrittenModules {
 public:
  // An operator that only golden has, or only actual.
  void add_golden(const dump::OperatorRun& run) { golden_.insert(place_of(run)); }
  void add_actual(const dump::OperatorRun& run) { actual_.insert(place_of(run)); }
  // Whether it runs in such a module, or in the backward pass of one.
  bool contains(const dump::OperatorRun& run) const;
  // Says whether both run in one module and step; its backward pass belongs to it.
  static bool are_together(const dump::OperatorRun& a, const dump::OperatorRun& b) {
    return place_of(a) == place_of(b);
  }
  using Place = std::tuple<std::uint32_t, std::int64_t, std::string>;  // rank, step and module
  // An operator of a module's backward pass has the place of the module.
  static Place place_of(const dump::OperatorRun& run);

 private:
  std::set<Place> golden_, actual_;
};

RewrittenModules find_rewritten(const dump::Runs& golden, const dump::Runs& actual,
                                std::span<const OperatorPair> pairs);

}  // namespace opdump::compare
