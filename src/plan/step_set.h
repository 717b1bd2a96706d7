// The steps to dump, as users write them: "0|5-8|100-120", or nothing for every step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace opdump::plan {

// Step numbers count from 0; both ends of a range are included. Each dialect parses text itself, because
// the configuration languages disagree on blanks, empty items and reversed ranges.
class StepSet {
 public:
  static StepSet all() { return StepSet(true); }
  static StepSet none() { return StepSet(false); }

  // Adds first..last; nothing if last < first.
  void add(std::uint64_t first, std::uint64_t last);

  // True if `step` is in the set. O(log ranges).
  bool contains(std::uint64_t step) const;
  bool is_all() const { return all_; }
  bool is_none() const { return !all_ && ranges_.empty(); }

  // How many steps of the set come after `step`; UINT64_MAX for every step.
  std::uint64_t count_after(std::uint64_t step) const;

  // Those of them; none of "all": nobody expects every step there is.
  StepSet after(std::uint64_t step) const;

  // "all", "none" or "0|5-8", merged and sorted.
  std::string format() const;

  // Words it for a sentence: "every step", "step 3" or "steps 0,5-8".
  std::string describe() const;

 private:
  struct Range {
    std::uint64_t first, last;
  };
  explicit StepSet(bool all) : all_(all) {}
  bool all_;
  std::vector<Range> ranges_;  // sorted, disjoint, not adjacent
};

}  // namespace opdump::plan
