// Which parts of a program a dump lacks, and which belong to no step.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dump/read/dump_set.h"

namespace opdump::compare {

// Says where the absence of an operator or a slot proves nothing.
struct Unfinished {
  std::set<std::uint32_t> golden = {}, actual = {};  // ranks whose recording stopped early or lost something
  std::map<std::uint32_t, std::int64_t> golden_cut = {},
                                        actual_cut = {};  // the step from which on a rank is not whole
  // The dump cannot say that a tensor has no data: it just is not there, as in what `opdump convert` makes.
  bool golden_is_silent = false, actual_is_silent = false;

  // They say whether golden, or actual, may lack an operator or slot of this rank and step.
  bool excuses_golden(const dump::OperatorRun& run) const { return excuses(golden, golden_cut, run); }
  bool excuses_actual(const dump::OperatorRun& run) const { return excuses(actual, actual_cut, run); }

 private:
  static bool excuses(const std::set<std::uint32_t>& ranks, const std::map<std::uint32_t, std::int64_t>& cut,
                      const dump::OperatorRun& run) {
    const auto step = cut.find(run.rank);
    return ranks.contains(run.rank) || (step != cut.end() && step->second <= run.step);
  }
};

// Holds for each rank from which step on the recording is no step, but what ran after the last one
// (dump::RecordingStatus::tail_step).
using Tails = std::map<std::uint32_t, std::int64_t>;
struct TailsOfBoth {
  Tails golden, actual;
  std::int64_t step_shift =
      0;  // the step of golden that actual's step 0 is: actual goes on from a checkpoint
};

// Whether compiled regions ran whose backward pass is not recorded.
bool lacks_backward_of_regions(const dump::DumpSet& dump);

// Finds where absence proves nothing, and adds the reasons, but for a backward pass of compiled regions.
Unfinished find_unfinished(const dump::DumpSet& golden, const dump::DumpSet& actual, bool is_sharded,
                           std::vector<std::string>& reasons);

Tails find_tails(const dump::DumpSet& dump);

// "only step 0 of 0 to 9 is recorded: `opdump run --steps all` records all of them": what an answer that
// finds nothing does not rest on. Empty if all steps up to the last one are recorded, and where nobody knows.
std::string describe_unrecorded_steps(const dump::DumpSet& dump);
// The same of two runs: of golden, or else of actual.
std::string describe_unrecorded_steps(const dump::DumpSet& golden, const dump::DumpSet& actual);

}  // namespace opdump::compare
