// The steps of a layout conversion: planned once, then copied box by box. Internal to math/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "math/layout/box_copy.h"
#include "math/layout/layout_plan.h"
#include "model/tensor_view.h"

namespace opdump::math {

struct PlannedLayout {
  LayoutPlan plan;
  bool from_stored = true;  // `from` is the stored layout of the plan, `to` the plain one
};

// Errors: as convert_layout; unsupported -- `from` is `to`.
Result<PlannedLayout> plan_layout(const model::TensorView& in, model::Format from, model::Format to,
                                  const model::Shape& shape_to, std::int64_t groups);

// The copying of `box`.
CopyBox copy_of(const LayoutBox& box, std::int64_t element_bytes, bool from_stored);

}  // namespace opdump::math
