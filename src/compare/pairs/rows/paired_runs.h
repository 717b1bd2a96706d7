// Two runs whose operators are paired, with the shapes of what they read and make.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compare/operator_pair.h"
#include "compare/wiring/wiring.h"
#include "dump/read/dump_set.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// A slot that both runs have, with shapes that are known.
struct ShapedSlot {
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  model::Shape golden = {}, actual = {};
  bool has_data = false;  // both have a tensor
  bool is_other_shape() const { return !(golden == actual); }
};

class PairedRuns {
 public:
  // All must outlive this.
  PairedRuns(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs);

  const dump::Runs& runs(bool is_golden) const { return is_golden ? golden_ : actual_; }
  const Wiring& wiring(bool is_golden) const { return is_golden ? golden_wiring_ : actual_wiring_; }
  std::span<const OperatorPair> pairs() const { return pairs_; }
  // The pair that an execution is in, by its place; nothing if it has no partner.
  std::optional<std::size_t> place_of(bool is_golden, std::uint32_t execution) const;
  // Of a whole pair.
  std::vector<ShapedSlot> slots(std::size_t place) const;
  bool has_other_output(std::size_t place) const;
  // What an operator of a whole pair reads; nothing if there is no such tensor, or it cannot be read.
  std::optional<dump::StoredTensor> read_input(bool is_golden, std::size_t place, std::uint32_t index) const;

 private:
  const dump::Runs &golden_, &actual_;
  std::span<const OperatorPair> pairs_;
  Wiring golden_wiring_, actual_wiring_;
  std::vector<std::uint32_t> golden_places_, actual_places_;  // of executions
};

}  // namespace opdump::compare
