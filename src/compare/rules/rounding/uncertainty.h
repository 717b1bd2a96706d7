// How far single elements differ between two runs that are both right. Of a gradient that is zero but for
// rounding no digit agrees, and an optimizer divides by its size: the parameter makes a whole step in any
// direction.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compare/pairs/pairing.h"
#include "compare/wiring/content.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Of a tensor of floating numbers, row by row; nothing of others.
std::optional<std::vector<double>> numbers_of(const dump::Slot& slot);

class Uncertainty {
 public:
  // |a - g| relative to the larger one, for each element in its order.
  using Elements = std::vector<float>;

  // Of what the operators of both runs in `pairs` make, but `open`, which may be wrong (places in pairs); and
  // of what `singles` of one run make of it, as of operators that compute element by element.
  Uncertainty(const dump::Runs& golden, const dump::Runs& actual, std::span<const OperatorPair> pairs,
              std::span<const std::size_t> singles, const std::set<std::size_t>& open);

  // Of a tensor of golden or actual that one of `singles` makes; null where it is not known to differ.
  const Elements* of(bool is_golden, const Fingerprint& print) const;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  struct OfRun {
    std::set<Key> read;  // by `singles`
    std::map<Key, std::shared_ptr<const Elements>> known;
  };
  void add_pair(const dump::Slot& golden, const dump::Slot& actual);
  void add_single(const dump::OperatorRun& run, OfRun& of_run);

  OfRun of_golden_, of_actual_;
  std::uint64_t room_ = 1 << 26;  // for elements
};

}  // namespace opdump::compare
