// The shapes that msaccucmp's built-in conversions make, and what they say where they fail (cann.md 5.1).
#pragma once

#include <cstdint>

#include "arrays/pieces.h"
#include "base/result.h"
#include "msaccucmp/judge/layout_change.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

// The change of a pair that the original knows, for `count` elements. Of request.stored it keeps the
// dimensions that the original looks at. Errors: corrupt -- with the text that Python says there; what is
// said besides goes to the log.
Result<arrays::LayoutChange> shapes_of_change(const LayoutRequest& request, std::uint64_t count,
                                              bool is_bug_compatible, Log& log);

}  // namespace opdump::msaccucmp
