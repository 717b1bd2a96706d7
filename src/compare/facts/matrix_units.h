// Units that multiply matrices with fewer bits than their type has: TF32 of GPUs keeps 10 bits after the first
// one of a float32, others keep the 7 of bfloat16. A run that uses them differs from one that does not in every
// matrix product and convolution, which is no fault of one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dump/read/runs.h"
#include "model/dtype.h"

namespace opdump::compare {

struct MatrixUnits {
  std::string_view name;                      // "TF32"
  model::DType as = model::DType::undefined;  // a type of 16 bits that rounds as they do
};

// Says whether operators of a type add up products: such units may compute them. ATen's names.
bool adds_up_products(std::string_view type);

// What multiplies the matrices of a run. Some elements of some operators are computed again in float64, from
// inputs with all bits and with fewer; at least three operators must have the result of fewer, all of the
// same, and none that of all bits. Nothing otherwise, and where inputs are not in the dump.
std::optional<MatrixUnits> find_matrix_units(const dump::Runs& runs);

// "actual multiplies matrices with TF32"
std::string describe_units(std::string_view side, const MatrixUnits& units);

}  // namespace opdump::compare
