// Cuts the elements of a layout into boxes: an axis of blocks has a whole part and a rest, or more parts
// where groups or gates are stored one behind the other.
#include <algorithm>

#include "math/layout/layout_plan.h"

namespace opdump::math {
namespace {

// A stretch of an axis with constant strides.
struct Run {
  std::array<LayoutLoop, 3> loops{};
  std::size_t count = 0;
  std::int64_t plain_offset = 0, stored_offset = 0;
};

struct AxisRuns {
  std::array<Run, 8> runs{};
  std::size_t count = 0;
};

// A stretch of an axis: `length` elements from `from`, which are stored from position `to` on.
struct Stretch {
  std::int64_t from = 0, length = 0, to = 0;
};

// Adds the runs of `stretch`, whose position counts from the start of a block of the level above.
void split(const AxisMap& axis, std::size_t level, Stretch stretch, Run prefix, AxisRuns& runs) {
  const auto [unit, stride] = axis.levels[level];
  if (stretch.length <= 0) return;
  const std::int64_t within = stretch.to % unit, blocks_before = stretch.to / unit;
  prefix.stored_offset += blocks_before * stride;
  if (level + 1 == axis.level_count) {
    prefix.plain_offset += stretch.from * axis.plain_stride;
    prefix.loops[prefix.count++] = {stretch.length, axis.plain_stride, stride};
    runs.runs[runs.count++] = prefix;
    return;
  }
  if (within != 0) {
    const std::int64_t head = std::min(unit - within, stretch.length);
    split(axis, level + 1, {stretch.from, head, within}, prefix, runs);
    prefix.stored_offset += stride;
    stretch = {stretch.from + head, stretch.length - head, 0};
  }
  const std::int64_t blocks = stretch.length / unit, rest = stretch.length % unit;
  if (blocks > 0) {
    Run whole = prefix;
    whole.loops[whole.count++] = {blocks, unit * axis.plain_stride, stride};
    split(axis, level + 1, {stretch.from, unit, 0}, whole, runs);
  }
  prefix.stored_offset += blocks * stride;
  split(axis, level + 1, {stretch.from + blocks * unit, rest, 0}, prefix, runs);
}

void add_run(LayoutBox& box, const Run& run) {
  for (std::size_t i = 0; i < run.count; ++i) box.loops[box.count++] = run.loops[i];
  box.plain_offset += run.plain_offset;
  box.stored_offset += run.stored_offset;
}

class BoxMaker {
 public:
  BoxMaker(const LayoutPlan& plan, const Window& window, const std::function<void(const LayoutBox&)>& visit)
      : plan_(plan), window_(window), visit_(visit) {
    for (std::size_t axis = 0; axis < kAxisCount; ++axis)
      set_stretch(static_cast<Axis>(axis), {0, plan.axes[axis].extent, 0});
  }

  void set_stretch(Axis name, Stretch stretch) {
    const AxisMap& axis = plan_.axis(name);
    stretch = cut(name, stretch);
    AxisRuns& runs = runs_[static_cast<std::size_t>(name)];
    runs.count = 0;
    if (axis.level_count > 0)
      split(axis, 0, stretch, {}, runs);
    else
      runs.count = 1;  // of one element, which lies at 0
  }

  void visit_boxes(std::int64_t stored_offset) const {
    LayoutBox box;
    box.stored_offset = stored_offset;
    visit_from(0, box);
  }

 private:
  Stretch cut(Axis name, const Stretch& stretch) const {
    const std::int64_t at = window_.in_stored ? stretch.to : stretch.from;
    const std::int64_t begin = std::max(at, window_.begin[static_cast<std::size_t>(name)]);
    const std::int64_t end = std::min(at + stretch.length, window_.end[static_cast<std::size_t>(name)]);
    return {stretch.from + begin - at, end - begin, stretch.to + begin - at};
  }

  void visit_from(std::size_t axis, const LayoutBox& box) const {
    if (axis == kAxisCount) return visit_(box);
    for (std::size_t i = 0; i < runs_[axis].count; ++i) {
      LayoutBox next = box;
      add_run(next, runs_[axis].runs[i]);
      visit_from(axis + 1, next);
    }
  }

  const LayoutPlan& plan_;
  const Window& window_;
  const std::function<void(const LayoutBox&)>& visit_;
  std::array<AxisRuns, kAxisCount> runs_;
};

void visit_groups(const LayoutPlan& plan, const Window& window, BoxMaker& maker) {
  const std::int64_t cin = plan.axis(Axis::c).extent, cout = plan.axis(Axis::n).extent / plan.groups;
  for (std::int64_t group = 0; group < plan.groups; ++group) {
    if (group / plan.fold < window.groups_begin || group / plan.fold >= window.groups_end) continue;
    const std::int64_t place = group % plan.fold;
    maker.set_stretch(Axis::c, {0, cin, place * cin});
    maker.set_stretch(Axis::n, {group * cout, cout, place * cout});
    maker.visit_boxes(group / plan.fold * plan.group_stride);
  }
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

void visit_gates(const LayoutPlan& plan, BoxMaker& maker) {
  const std::int64_t hidden = plan.axis(Axis::n).extent / 4, input = plan.axis(Axis::c).extent - hidden;
  const Stretch rows[] = {{0, input, 0}, {input, hidden, round_up(input, plan.c0)}};
  for (const Stretch& part : rows)
    for (std::int64_t gate = 0; gate < 4; ++gate) {
      maker.set_stretch(Axis::c, part);
      maker.set_stretch(Axis::n, {gate * hidden, hidden, gate * round_up(hidden, plan.n0)});
      maker.visit_boxes(0);
    }
}

}  // namespace

void for_each_box(const LayoutPlan& plan, const Window& window,
                  const std::function<void(const LayoutBox&)>& visit) {
  if (plan.plain_count == 0 || plan.stored_count == 0) return;
  BoxMaker maker(plan, window, visit);
  if (plan.special == Special::lstm)
    visit_gates(plan, maker);
  else if (plan.groups > 1)
    visit_groups(plan, window, maker);
  else
    maker.visit_boxes(0);
}

}  // namespace opdump::math
