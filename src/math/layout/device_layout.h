// Converts tensors to and from an accelerator's memory layouts (cann.md 5). A *plain* layout (NCHW, HWCN, ND,
// ...) is row-major. A *blocked* layout cuts one or two dimensions into blocks and stores them block by
// block, with the last block padded with zeros: NC1HWC0 is [N, ceil(C / C0), H, W, C0]. The stored shape of a
// tensor shows its block sizes; block_sizes() returns those of a chip.
//
// Where the dimensions' names matter:
//   ND is NCDHW next to a layout with D, a matrix of two dimensions (C, N) next to the filter layouts, and
//   any shape next to FRACTAL_NZ and FRACTAL_ZZ, which always block the last two dimensions, whatever they
//   are called. A dimension that one of the two layouts does not have must be 1. FRACTAL_Z_3D_TRANSPOSE has
//   the shape [D*H*W*No, C1, 16, C0], but its elements lie in the order d, c1, h, w, n, c0, as the original's
//   converter puts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "math/layout/block_sizes.h"
#include "model/dtype.h"
#include "model/format.h"
#include "model/shape.h"
#include "model/tensor_view.h"

namespace opdump::math {

// True for NCHW, ND and the like.
bool is_plain_layout(model::Format format);

// True if convert_layout knows the pair: the same format, or two that have an element order of their own, one
// of them plain.
bool can_convert_layout(model::Format from, model::Format to);

// The shape of a tensor of `shape` after its conversion. Blocked to plain it is the padded one: NC1HWC0
// (2,2,3,5,16) is NCHW (2,32,3,5).
// Errors: unsupported -- a pair that can_convert_layout does not know, or a stored shape that does not
// determine it (FRACTAL_Z hides H and W); corrupt -- a shape that is none of `from`, or so large that sizes
// overflow.
Result<model::Shape> convert_shape(const model::Shape& shape, model::Format from, model::Format to,
                                   const LayoutOptions& options = {});

// True if `stored` is the shape of a vector of `count` elements in FRACTAL_NZ, FRACTAL_ZZ or one of their
// kind: of a matrix with one row, or with one column. Whatever it is, convert_layout takes it for a row where
// it can be both.
bool holds_vector(const model::Shape& stored, model::Format format, std::int64_t count);

// Writes the elements of `in`, a contiguous tensor in layout `from`, to `out` in layout `to`, whose shape is
// `shape_to`; padding of a blocked result is 0. From a blocked layout `shape_to` may be smaller than the
// padded shape, which cuts the padding off (where a stored dimension is one dimension alone, also more than
// that); the batch dimensions of FRACTAL_NZ and FRACTAL_ZZ may be joined or split. `out` must hold exactly
// the result. With more than one thread large tensors are converted by several. Errors: unsupported -- the
// pair, a packed dtype (unpack it first), a view that is not contiguous; corrupt -- shapes that do not fit
// each other or the format, or `out` of another size.
Result<> convert_layout(const model::TensorView& in, model::Format from, model::Format to,
                        const model::Shape& shape_to, std::int64_t groups, std::span<std::byte> out,
                        unsigned threads = 1);

}  // namespace opdump::math
