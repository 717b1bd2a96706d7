#pragma once

namespace opdump::math {

// How far apart two elements may be: see metrics.h.
struct Tolerance {
  double rtol = 0, atol = 0;
};

}  // namespace opdump::math
