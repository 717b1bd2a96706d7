// How far two tensors of a link are apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "weights/checkpoint.h"
#include "weights/link.h"

namespace opdump::weights {

struct WeightDistance {
  bool is_equal = false;  // all numbers, after `cast`
  std::string cast;       // "float32 to bfloat16"; empty if none was needed
  std::uint64_t count = 0, differing = 0;
  double max_abs = 0, relative_l2 = 0, cosine = 1;
  std::uint64_t rows = 0;                     // of actual that correspond to one of golden
  std::vector<std::uint64_t> differing_rows;  // of actual, the first ones of them
  std::uint64_t differing_row_count = 0;
  double golden_least = 0, golden_most = 0, actual_least = 0, actual_most = 0;
  std::string relation;  // "actual is 2 × golden in all elements"; empty if there is no simple one
};

// Errors: those of WeightElements::open.
Result<WeightDistance> measure_link(const WeightTensor& golden, const WeightTensor& actual,
                                    const Arrangement& arrangement);

}  // namespace opdump::weights
