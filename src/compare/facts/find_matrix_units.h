// Finds out with what a run multiplies matrices.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compare/matrix_units.h"
#include "dump/read/runs.h"

namespace opdump::compare {

// What multiplies the matrices of a run. Some elements of some operators are computed again in float64, from
// inputs with all bits and with fewer; of matrix products, or of convolutions, at least two must have the
// result of fewer, all of the same, or a sum of fewer, and none that of all bits; one is enough where the
// others have shown it. Nothing otherwise, and where inputs are not in the dump.
std::optional<MatrixUnits> find_matrix_units(const dump::Runs& runs);

// What two runs round as together.
MatrixUnits join_units(const std::optional<MatrixUnits>& one, MatrixUnits other);

// "actual computes matrix products with TF32"
std::string describe_units(std::string_view side, const MatrixUnits& units);

}  // namespace opdump::compare
