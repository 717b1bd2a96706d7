// What two tensors have in common where one run has more rows or positions than the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "model/shape.h"
#include "model/tensor_view.h"

namespace opdump::compare {

// The axes of a tensor, those that are a product, 40 = 4 x 10, split into their factors. Axes are in order.
struct Factors {
  static constexpr std::size_t kSpread =
      SIZE_MAX;  // the tensor has no such axis, and is the same all along it
  model::Shape sizes = {};
  std::vector<std::size_t> axes = {};  // of the tensor, that each one is of
};

// A box of elements on either side, in factors.
struct TensorPart {
  model::Shape golden, actual;  // where it begins
  model::Shape extent;
  bool operator==(const TensorPart&) const = default;
};

// How two tensors lie to each other.
struct PartPlan {
  Factors golden = {}, actual = {};
  std::vector<std::size_t> order = {};  // of actual's factors, so that they are golden's; empty: as they are
  std::vector<TensorPart> parts = {};   // after that
};

struct SlotParts {
  std::vector<PartPlan> plans = {};  // the first one by which the elements agree counts, else the nearest
  std::string left_out = {};         // not empty: why nothing is compared
};

// `tensor` with its axes split.
model::TensorView split_axes(const model::TensorView& tensor, const Factors& factors);

// The elements of a box of `tensor`.
model::TensorView box_of(const model::TensorView& tensor, const model::Shape& first,
                         const model::Shape& extent);

// The metrics of two sets of parts together.
math::Metrics join_metrics(const math::Metrics& a, const math::Metrics& b);

// Judges a slot that has `parts` by its tensors.
void measure_parts(SlotComparison& slot, const model::TensorView& golden, const model::TensorView& actual,
                   model::DType dtype, const CompareOptions& options, unsigned threads);

}  // namespace opdump::compare
