// Two tensors of equal shape: metrics by the tolerances of the options, and what they say of a slot.
#pragma once

#include "compare/comparison.h"

namespace opdump::compare {

// The metrics by the tolerances of `dtype`, scaled to the size of `golden`.
Result<math::Metrics> measure_pair(const model::TensorView& actual, const model::TensorView& golden,
                                   model::DType dtype, const CompareOptions& options, unsigned threads);
// The tolerances of `dtype`, not scaled to a tensor.
math::Tolerance tolerance_of(model::DType dtype, const CompareOptions& options);
// The type that rounds more. An integer or a bool against another kind stays exact.
model::DType coarser_dtype(model::DType golden, model::DType actual);
// Sets metrics and verdict; slot.reason stays in front of what the metrics say.
void judge_metrics(SlotComparison& slot, const math::Metrics& metrics);

}  // namespace opdump::compare
