// How the elements of one framework's tensor lie in that of another: reshaped, transposed (weights of a
// product), or with the channels last.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "math/metrics/metrics.h"
#include "model/tensor_view.h"

namespace opdump::compare {

struct Layout {
  std::vector<std::size_t> golden_axes = {}, actual_axes = {};  // the order of axes; empty: as it is

  // "" if nothing was moved; "axes (0,2,3,1) of actual", "reshaped from (2,8)".
  std::string describe(const model::TensorView& golden, const model::TensorView& actual) const;
};

// `tensor` with its axes in another order.
model::TensorView permute(const model::TensorView& tensor, const std::vector<std::size_t>& axes);

// The order of axes in which `actual` is most like `golden`, which has as many elements. It stays as it is if
// that is close; if none is close, it gets the order that makes the shapes equal, if any.
Layout find_layout(const model::TensorView& golden, const model::TensorView& actual);

}  // namespace opdump::compare
