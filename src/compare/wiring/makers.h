// Which executions made what others read, for many inputs at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compare/wiring/content.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// Whether a tensor that is read may be a view of `whole`: some of its elements, or a number that is spread.
// Not of large ones, which take long.
bool is_view_of(const dump::Slot& part, const dump::Slot& whole);

// Tensors are recognised by their elements, in any order; views by some of theirs, soon after.
class Makers {
 public:
  using Inputs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // of executions, by index
  explicit Makers(const dump::Runs& runs) : runs_(runs) {}

  // Finds who made these inputs; call it once. `passing` only pass on what they read: who made that is found.
  void find(Inputs inputs, const std::set<std::uint32_t>& passing);

  // The last execution that made an input; nothing if none did, as of weights and data.
  std::optional<std::uint32_t> of(std::uint32_t reader, std::uint32_t input) const;

 private:
  void find(const Inputs& inputs);
  std::optional<std::uint32_t> find_whole(std::uint32_t reader, const dump::Slot& input) const;

  const dump::Runs& runs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> makers_;  // by reader and input
  std::set<std::uint32_t> passing_;
};

}  // namespace opdump::compare
