#pragma once

#include <cmath>

namespace opdump::math {

// How far apart two elements may be: see metrics.h.
struct Tolerance {
  double rtol = 0, atol = 0;
  double filler = 0;  // a number of golden that stands for infinity where actual has it, too; 0: none

  bool is_filler(double actual, double golden) const {
    return filler != 0 && golden == filler && std::abs(actual - golden) <= rtol * std::abs(golden);
  }
};

}  // namespace opdump::math
