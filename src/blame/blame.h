// Which operator, argument, weight or random source is to blame that two runs differ. Where compare judges by
// differences, this runs operators again in float64 on the inputs that each run recorded: an operator is at
// fault if its output is not what its own inputs and rounding explain. The page for users: docs/blame.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "blame/evidence.h"
#include "compare/compare.h"

namespace opdump::blame {

enum class Cause : std::uint8_t {
  own_error,        // of actual: not what its inputs and rounding explain
  golden_at_fault,  // the same of golden
  both,             // of both, each in its own way
  argument,         // an argument or a constant of the program differs
  input,            // an input that no recorded operator made differs: a weight, data
  overwritten,      // an input is not what its producer made: its memory was changed in between
  random,           // a random operator: another seed
  sequence,         // operators that only one side has
  unknown,          // its outputs differ, its inputs do not, and it cannot be run again
};
inline constexpr std::string_view kCauseNames[] = {"own_error", "golden_at_fault", "both",
                                                   "argument",  "input",           "overwritten",
                                                   "random",    "sequence",        "unknown"};

enum class Confidence : std::uint8_t { certain, suspect, cannot_tell };
inline constexpr std::string_view kConfidenceNames[] = {"certain", "suspect", "cannot_tell"};

struct Finding {
  Cause cause = Cause::unknown;
  Confidence confidence = Confidence::cannot_tell;
  compare::OperatorComparison op;
  std::string slot;  // "output.0"
  std::string why;   // "error 2.1e+04 times what rounding explains"
  std::optional<OutputError> error;
  double weight = 0;  // for the order of findings of one confidence
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
  std::vector<Finding> findings;  // the culprit first, then what else it may be
  std::uint64_t compared = 0;     // operators
  std::uint64_t differing = 0;    // those with an output that is not bit by bit the same
  std::uint64_t replayed = 0;
  std::vector<std::string> not_replayed;  // reasons, with a number
  std::vector<std::string> chain;         // operators on the way from the culprit to the end
  std::vector<std::string> incomplete, notes;
};

struct BlameOptions {
  compare::CompareOptions compare;
  // Answers a request of blame/request.h.
  std::function<Result<std::string>(std::string request)> replay;
  std::uint64_t limit = 2000;  // of operators that are run again
};

// Looks at operators in golden's order of execution until one is certainly to blame. Errors: those of
// compare_dumps and of `replay`. `comparison` gets what compare_dumps found.
Result<BlameAnswer> find_blame(const dump::DumpSet& golden, const dump::DumpSet& actual,
                               const BlameOptions& options, compare::Comparison& comparison);

}  // namespace opdump::blame
