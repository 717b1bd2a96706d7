// What identifies the elements of a tensor wherever they lie: numbers that are equal for equal elements, of
// the tensor whatever their order, and of each row and column. They find pairs; the elements prove them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "weights/checkpoint.h"
#include "weights/elements.h"

namespace opdump::weights {

struct WeightContent {
  MatrixShape shape;
  std::uint64_t sum = 0;                     // of all elements, in any order
  std::vector<std::uint64_t> rows, columns;  // of each block one after the other; empty if there are too many
  bool is_simple = true;                     // so few different numbers that many a tensor has the same
  // The narrowest of float32, float16 and bfloat16 that has all numbers; float32 of what is simple.
  model::DType precision = model::DType::float32;
};

// Describes the elements rounded to `rounding`; undefined: as they are, or as float32 if they are wider.
// Errors: those of WeightElements::open.
Result<WeightContent> content_of(const WeightTensor& tensor, model::DType rounding);

}  // namespace opdump::weights
