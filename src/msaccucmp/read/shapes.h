// The shapes that msaccucmp's built-in conversions make, and what they say where they fail (cann.md 5.1).
#pragma once

#include <cstdint>

#include "arrays/pieces.h"
#include "base/result.h"
#include "msaccucmp/verbs/msaccucmp.h"

namespace opdump::msaccucmp {

struct ShapeRequest {
  model::Format from = model::Format::nd, to = model::Format::nd;
  model::Shape stored;
  model::Shape wanted;      // what the tensor was before; no dimensions if nobody tells
  std::uint64_t count = 0;  // elements that there are
  std::int64_t groups = 1;
  bool is_bug_compatible = false;
};

// The change of a pair that the original knows. Of `stored` it keeps the dimensions that the original looks
// at. Errors: corrupt -- with the text that Python says there; what is said besides goes to the log.
Result<arrays::LayoutChange> shapes_of_change(const ShapeRequest& request, Log& log);

}  // namespace opdump::msaccucmp
