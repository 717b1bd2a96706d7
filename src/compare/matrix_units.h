// Units that multiply matrices with fewer bits than their type has: TF32 of GPUs keeps 10 bits after the
// first one of a float32, others keep the 7 of bfloat16. A run that uses them differs from one that does not
// in every matrix product and convolution, which is no fault of one of them. facts/find_matrix_units.h finds
// them.
#pragma once

#include <string_view>

#include "model/dtype.h"
#include "model/operator_traits.h"

namespace opdump::compare {

struct MatrixUnits {
  std::string_view name;                      // "TF32"
  model::DType as = model::DType::undefined;  // a type of 16 bits that rounds as they do
  // A GPU may use them for one of the two only.
  bool for_matrices = false, for_convolutions = false;

  // Says whether they compute operators of a type.
  bool compute(std::string_view type) const {
    return (for_matrices && model::has_trait(type, model::Trait::multiplies)) ||
           (for_convolutions && model::has_trait(type, model::Trait::convolves));
  }
};

}  // namespace opdump::compare
