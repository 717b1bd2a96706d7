// Named axes: extents that two runs of one model have of other sizes, and what they have in common there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compare/measure/measure_parts.h"
#include "model/shape.h"

namespace opdump::compare {

// The name of the axis of what a run keeps of all positions so far, as the keys of an attention.
inline constexpr const char* kKeys = "key";

// "row": 4 in golden and 1 in actual.
struct NamedAxis {
  std::string name;
  std::int64_t golden = 0, actual = 0;
};

// Places of an axis that follow one another in both runs.
struct AxisStretch {
  std::int64_t golden = 0, actual = 0, count = 0;  // where it begins, and how many
  bool operator==(const AxisStretch&) const = default;
};

struct RowAxisMap {
  // What is the same of all axes at once: one stretch for each axis. No two blocks have a place in common.
  using Block = std::vector<AxisStretch>;

  std::vector<NamedAxis> axes = {};
  std::vector<Block> blocks = {};
  // One run has the positions of all rows one behind the other, in one row, and the other one pads its rows:
  // it has nothing else beside what the blocks say.
  bool is_packed = false;

  // The runs have the same rows in another order: which axes are rows, sizes do not say.
  bool is_reordered() const { return axes.size() == 1 && axes.front().golden == axes.front().actual; }
  // Whether every place of an axis is in a block, on both sides: what sums over it sums the same.
  bool is_whole(std::size_t axis) const;
  // The place in actual of golden's `place`; nothing if there is none.
  std::optional<std::int64_t> actual_place(std::size_t axis, std::int64_t place) const;
};

// "rows 0-2 of 4 = rows 1-3 of 3", "row 1 of 4 = the only row".
std::string describe(const RowAxisMap& map);

// How two tensors lie to each other. `has_axis` says which axes are in them.
struct AxesOfSlot {
  std::shared_ptr<const SlotParts> parts = nullptr;  // null: whole tensors are compared
  std::vector<bool> has_axis = {};
};

// Where rows are only in another order, each axis may be rows, or none. Nothing if the shapes differ by
// anything else than the axes of the map; a tensor that is packed may have no axis for its one row.
// `is_spread`: what an operator reads may lack axes in one run, or have one element there, as a mask that is
// the same for all rows.
std::optional<AxesOfSlot> find_parts(const RowAxisMap& map, const model::Shape& golden,
                                     const model::Shape& actual, bool is_spread = false);

}  // namespace opdump::compare
