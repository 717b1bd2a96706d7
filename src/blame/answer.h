// What `opdump blame` says of two runs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "blame/evidence.h"
#include "compare/comparison.h"

namespace opdump::blame {

enum class Cause : std::uint8_t {
  own_error,        // of actual: not what its inputs and rounding explain
  golden_at_fault,  // the same of golden
  both,             // of both, each in its own way
  argument,         // an argument or a constant of the program differs
  input,            // an input that no recorded operator made differs: a weight, data
  overwritten,      // an input is not what its producer made: its memory was changed in between
  overflow,         // a result is too large for its type in one run, or no number
  random,           // a random operator: another seed
  sequence,         // operators that only one side has
  unknown,          // its outputs differ, its inputs do not, and it cannot be run again
};
inline constexpr std::string_view kCauseNames[] = {"own_error", "golden_at_fault", "both",     "argument",
                                                   "input",     "overwritten",     "overflow", "random",
                                                   "sequence",  "unknown"};

enum class Confidence : std::uint8_t { certain, suspect, cannot_tell };
inline constexpr std::string_view kConfidenceNames[] = {"certain", "suspect", "cannot_tell"};

struct Finding {
  Cause cause = Cause::unknown;
  Confidence confidence = Confidence::cannot_tell;
  compare::OperatorComparison op;
  std::string slot;  // "output.0"
  std::string why;   // "error 2.1e+04 times what rounding explains"
  std::optional<OutputError> error;
  std::vector<std::size_t> executions;  // at fault in the same way, by their order among those that differ
  std::set<std::int64_t> later_steps;   // of executions but the first
  std::vector<std::string> others;      // of other modules that have the same other argument, in order
  // The share of the final error that is gone without this one, if there are several culprits.
  std::optional<double> removes;
};

enum class BlameOutcome : std::uint8_t {
  same,        // nothing differs
  rounding,    // what differs is rounding
  differs,     // for the first finding
  incomplete,  // nothing found, but not everything could be looked at
};
inline constexpr std::string_view kOutcomeNames[] = {"same", "rounding", "differs", "incomplete"};

struct BlameAnswer {
  BlameOutcome outcome = BlameOutcome::incomplete;
  bool is_examined = false;       // nothing is open about the operators that differ
  std::vector<Finding> findings;  // the culprit first, then other culprits, then what else it may be
  std::optional<double> removed;  // the share of the final error that is gone without all culprits
  std::uint64_t compared = 0;     // operators
  std::uint64_t differing = 0;    // those with an output that is not bit by bit the same
  std::uint64_t replayed = 0;
  std::vector<std::string> not_replayed;  // reasons, with a number
  std::vector<std::string> chain;         // operators on the way from the culprit to the end
  std::vector<std::string> incomplete, notes;
};

}  // namespace opdump::blame
