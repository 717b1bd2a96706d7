// The exit status of a comparison.
#pragma once

#include "cli/verb.h"
#include "compare/comparison.h"

namespace opdump::cli {

inline Exit exit_of_answer(compare::Answer outcome) {
  switch (outcome) {
    case compare::Answer::same:
      return Exit::match;
    case compare::Answer::differs:
      return Exit::mismatch;
    case compare::Answer::incomplete:
    case compare::Answer::nothing_compared:
      break;
  }
  return Exit::incomplete;
}

}  // namespace opdump::cli
