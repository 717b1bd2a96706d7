#include "math/sum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "math/float_environment.h"
#include "math/lane_reader.h"

namespace opdump::math {

void sum_tensors(std::span<const model::TensorView> tensors, double factor, std::span<double> out) {
  const FloatEnvironment environment;
  std::ranges::fill(out, 0.0);
  for (const model::TensorView& tensor : tensors) {
    LaneReader<double> lanes(tensor);
    for (std::size_t i = 0; i < out.size(); i += kLaneBlock) {
      const std::size_t count = std::min(kLaneBlock, out.size() - i);
      const double* block = lanes.next(count);
      for (std::size_t k = 0; k < count; ++k) out[i + k] += block[k];
    }
  }
  if (factor != 1)
    for (double& sum : out) sum *= factor;
}

}  // namespace opdump::math
