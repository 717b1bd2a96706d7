// Which differences are no more than what the steps of a quantised model explain.
#pragma once

#include "compare/comparison.h"

namespace opdump::compare {

// Sees operators in the order of execution.
class QuantisationJudge {
 public:
  // Makes rounding of differences of less than two steps (root mean square), and of what such inputs grow to.
  // An operator whose inputs are rounded and whose result is not has an error of its own.
  void excuse(OperatorComparison& op);

 private:
  double farthest_ = 0;  // the largest distance that was made rounding, relative L2
};

}  // namespace opdump::compare
