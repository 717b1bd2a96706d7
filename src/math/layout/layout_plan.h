// Where each element of a tensor lies in a stored and in a plain layout: strides for every axis, and the
// boxes of elements that have constant strides in both. Internal to math/.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "math/layout/block_sizes.h"
#include "math/layout/layout_table.h"

namespace opdump::math {

// One level of an axis in the stored layout: every `unit` elements are `stride` apart.
struct AxisLevel {
  std::int64_t unit = 1, stride = 0;
};

struct AxisMap {
  std::int64_t extent = 1;        // in the plain layout
  std::int64_t plain_stride = 0;  // in elements, like all strides here
  std::array<AxisLevel, 3> levels{};
  std::size_t level_count = 0;  // 0: the stored layout does not have the axis, and extent is 1
};

// A dimension of the stored layout: `extent` times `unit` elements of an axis, `stride` elements apart.
struct StoredLoop {
  static constexpr std::size_t kMost = 8;
  Axis axis = Axis::batch;
  std::int64_t unit = 1, extent = 1, stride = 1;
};

struct LayoutPlan {
  std::array<AxisMap, kAxisCount> axes{};
  Special special = Special::none;
  std::int64_t c0 = 1, n0 = 1;
  std::int64_t plain_count = 0, stored_count = 0;  // elements
  // Groups (cann.md 5.2): `fold` of them share the blocks of one folded group, `group_stride` elements apart.
  std::int64_t groups = 1, fold = 1, group_stride = 0;

  // What one folded group is made of, outermost first; of a diagonal only the outer dimension.
  std::array<StoredLoop, StoredLoop::kMost> stored_loops{};
  std::size_t stored_loop_count = 0;

  AxisMap& axis(Axis name) { return axes[static_cast<std::size_t>(name)]; }
  const AxisMap& axis(Axis name) const { return axes[static_cast<std::size_t>(name)]; }
};

// The plan for the plain layout `plain` of `plain_shape` and the layout `row`, stored as `stored_shape`. With
// `may_cut` stored dimensions may be larger than the plain shape asks for.
// Errors: as convert_layout.
Result<LayoutPlan> make_plan(const LayoutRow& row, const model::Shape& stored_shape, model::Format plain,
                             const model::Shape& plain_shape, std::int64_t groups, bool may_cut);

// The stored shape of a plain one. Errors: as convert_shape.
Result<model::Shape> stored_shape_of(const LayoutRow& row, model::Format plain,
                                     const model::Shape& plain_shape, const LayoutOptions& options);

// a / b for numbers from 0 up, rounded up.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

// Elements with constant strides: `extents` of up to kMaxLoops nested loops.
struct LayoutLoop {
  std::int64_t extent = 1, plain_stride = 0, stored_stride = 0;
};
struct LayoutBox {
  static constexpr std::size_t kMaxLoops = 12;
  std::array<LayoutLoop, kMaxLoops> loops{};
  std::size_t count = 0;
  std::int64_t plain_offset = 0, stored_offset = 0;
};

// Some of the elements: of each axis what is in [begin, end), and of the folded groups, too. `in_stored`:
// these are positions in the stored layout, else indexes in the plain one.
struct Window {
  bool in_stored = false;
  std::array<std::int64_t, kAxisCount> begin{}, end;
  std::int64_t groups_begin = 0, groups_end = INT64_MAX;

  Window() { end.fill(INT64_MAX); }
};

// Calls visit(box) for boxes that together hold every element of the plain layout in `window` once.
void for_each_box(const LayoutPlan& plan, const Window& window,
                  const std::function<void(const LayoutBox&)>& visit);

}  // namespace opdump::math
