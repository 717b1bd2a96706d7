// Runs whose tensors have the same elements in other shapes: tokens before batches, (T,B,D) against (B,T,D),
// or axes that one run has merged, (B*T,D). Page: docs/rows.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "compare/measure/measure_parts.h"
#include "compare/pairs/pairing.h"
#include "compare/pairs/rows/pair_rows.h"
#include "model/shape.h"

namespace opdump::compare {

class AxisOrder {
 public:
  // `moved`: the sizes of the axes that the data of the two runs has in another order, each of which other
  // tensors have for an axis or as a factor of one.
  explicit AxisOrder(std::vector<std::int64_t> moved) : moved_(std::move(moved)) {}

  // The ways in which tensors of these shapes may have the same elements, the likeliest first: in the same
  // order, or with moved axes in another one. Empty if there is none.
  std::vector<PartPlan> plans(const model::Shape& golden, const model::Shape& actual) const;

  // Says how the slots of a pair are compared.
  void add_parts(OperatorComparison& op) const;

 private:
  std::vector<std::int64_t> moved_;
};

// Pairs operators of one name whose shapes differ in this way alone, as the data does. Null, and `pairing`
// stays as it is: some tensor has another shape, or the data has its axes as golden's.
std::unique_ptr<const AxisOrder> pair_axis_order(const RunsOfBoth& runs, Pairing& pairing);

}  // namespace opdump::compare
