// Where two programs that compute the same by other operators part, tried out: with golden's result in the
// place of actual's, what follows in actual is what golden computes.
//
//   golden   x ─► rfft ─► ... ─► irfft ─► + conv(x) ─► gelu        conv has another layout in actual, and is
//   right: actual   x ─► mm   ─► ... ─► add   ─► + mm(x) + bias ─► gelu   with irfft for add, gelu is
//   golden's
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "blame/request.h"
#include "compare/operator_pair.h"
#include "dump/read/runs.h"

namespace opdump::blame {

// Of executions.
struct Substitution {
  // What makes the result; and where what it is made of begins to be lost (pairs/results/lost_results.h),
  // which may be the same.
  compare::OperatorPair ends = {}, begins = {};
  // What actual has only with golden's result: how many, and the first.
  std::uint64_t restored = 0;
  compare::OperatorPair first_restored = {};
  std::uint64_t replayed = 0;  // operators, to find it
};

// Looks for the first result of actual that can be replaced in this way, among those up to the part of the
// step where the `parting` pair of compare::pair_results() is; nothing if there is none. Where the result is
// made of what that pair makes, it begins there. Reads all tensors, with `threads` threads, and runs at most
// `limit` operators again. Errors: those of `replay`.
Result<std::optional<Substitution>> find_substitution(const dump::Runs& golden, const dump::Runs& actual,
                                                      const compare::OperatorPair& parting,
                                                      const Replay& replay, unsigned threads,
                                                      std::uint64_t limit);

// "golden computes _fft_c2r at orig.py:17 here, actual mm at other.py:31 to add at other.py:37; with golden's
// result in its place, actual computes what golden does in add at orig.py:32 and behind it".
std::string describe_substitution(const Substitution& found, const dump::Runs& golden,
                                  const dump::Runs& actual);

}  // namespace opdump::blame
