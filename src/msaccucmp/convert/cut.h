// The original's cuts of a tensor to the shape that is wanted, and which of NumPy's views come of them.
#pragma once

#include <optional>

#include "arrays/pieces.h"
#include "model/shape.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

// True if numpy.save writes the result of `change` column by column: it does where the array that the
// original makes is a view whose elements lie so in memory.
bool is_saved_as_fortran(const arrays::LayoutChange& change);

// What is left of a tensor of shape `have` that the original cuts to `want`, dimension by dimension, whatever
// they mean; nothing if it refuses.
std::optional<model::Shape> cut_shape(const model::Shape& have, const model::Shape& want, Log& log);

}  // namespace opdump::msaccucmp
