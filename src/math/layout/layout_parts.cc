#include "math/layout/layout_parts.h"

#include <algorithm>
#include <cstring>

#include "math/layout/layout_copy.h"

namespace opdump::math {
namespace {

constexpr std::int64_t kCacheLine = 64;
constexpr std::int64_t kWindowBytes = 64 << 10;    // the system maps so much of a file at a time
constexpr std::int64_t kNearBytes = 2 << 20;       // it may also map so many at once, whatever madvise() said
constexpr std::int64_t kMostNearBytes = 64 << 20;  // around what a part looks at; more is read, not mapped
constexpr std::size_t kReadPartBytes = 4 << 20;    // of a part that is read: each stretch costs a call
constexpr std::int64_t kMostWindows = 1024;        // that a part looks into, for the sake of memory
constexpr std::int64_t kLongestBlock = 4096;       // longer ones are not read whole

}  // namespace

// Where a part lies.
struct LayoutParts::Position {
  Window window;
  std::int64_t offset = 0,
               buffer_offset = 0;     // of its first element, in the result and if all were in a buffer
  std::int64_t outer = 1, inner = 1;  // how many indexes it has of these loops
};

Result<LayoutParts> LayoutParts::make(const model::TensorView& in, model::Format from, model::Format to,
                                      const model::Shape& shape_to, std::int64_t groups,
                                      std::size_t part_bytes, PartOrder order) {
  LayoutParts parts;
  OPDUMP_TRY(PlannedLayout planned, plan_layout(in, from, to, shape_to, groups));
  parts.in_ = in;
  parts.plan_ = planned.plan;
  parts.from_stored_ = planned.from_stored;
  parts.size_ = static_cast<std::int64_t>(model::dtype_info(in.dtype).bits / 8);
  const std::int64_t result_count = parts.from_stored_ ? parts.plan_.plain_count : parts.plan_.stored_count;
  if (result_count == 0) return parts;
  if (parts.from_stored_)
    parts.list_plain_loops();
  else
    parts.list_stored_loops();
  const LayoutParts unchosen = parts;
  parts.choose(part_bytes, order);
  if (parts.bytes_near_part() <= kMostNearBytes) return parts;
  const auto reader = MappingFile::find({in.data, in.byte_count()});
  if (!reader) return parts;
  parts = unchosen;
  parts.choose(std::max(part_bytes, kReadPartBytes), order);
  parts.reader_ = reader;
  return parts;
}

void LayoutParts::list_plain_loops() {
  for (std::size_t i = 0; i < kAxisCount; ++i) {
    const AxisMap& axis = plan_.axes[i];
    if (axis.extent == 1) continue;
    Loop loop{{static_cast<Axis>(i), 1, axis.extent, axis.plain_stride}, false, 1, 0, 1};
    if (axis.level_count > 0) {
      loop.in_stride = axis.levels[0].stride;
      loop.in_indexes = axis.levels[0].unit;
    }
    if (axis.level_count > 1) loop.near = std::min(axis.levels[0].unit, kLongestBlock);
    const bool is_row = axis.level_count > 0 && axis.levels[axis.level_count - 1].stride == 1;
    if (is_row) loop.near = std::max(loop.near, kCacheLine / size_);
    loops_.push_back(loop);
  }
  std::ranges::sort(loops_, std::ranges::greater(), [](const Loop& loop) { return loop.of.stride; });
  if (loops_.empty()) loops_.push_back({});  // one element
}

void LayoutParts::list_stored_loops() {
  const std::int64_t folded = ceil_div(plan_.groups, plan_.fold);
  if (folded > 1) loops_.push_back({{Axis::batch, 1, folded, plan_.group_stride}, true, 1, 0, 1});
  for (std::size_t i = 0; i < plan_.stored_loop_count; ++i) {
    Loop loop{plan_.stored_loops[i], false, 1, 0, 1};
    if (loop.of.extent == 1) continue;
    const AxisMap& axis = plan_.axis(loop.of.axis);
    loop.in_stride = axis.plain_stride * loop.of.unit;
    if (axis.plain_stride == 1) loop.near = ceil_div(kCacheLine / size_, loop.of.unit);
    loops_.push_back(loop);
  }
  if (loops_.empty()) loops_.push_back({});
}

// How many windows of the input `count` indexes of a loop lie in, if each lies in one.
std::int64_t LayoutParts::windows_in(std::size_t loop, std::int64_t count) const {
  const Loop& of = loops_[loop];
  return of.in_stride >= kWindowBytes / size_ ? ceil_div(count, of.in_indexes) : 1;
}

std::int64_t LayoutParts::windows_below(std::size_t loop) const {
  std::int64_t windows = 1;
  for (std::size_t i = loop + 1; i < loops_.size() && windows <= kMostWindows; ++i)
    windows *= windows_in(i, loops_[i].of.extent);
  return windows;
}

// The loop that is divided together with outer_. The axis of the latter must not be cut by another one, too.
std::size_t LayoutParts::choose_inner(std::size_t part_bytes) const {
  std::size_t inner = outer_;
  while (inner + 1 < loops_.size() && loops_[inner + 1].of.axis != loops_[outer_].of.axis) {
    ++inner;
    const Loop& loop = loops_[inner];
    const std::int64_t bytes = outer_step_ * loop.of.stride * size_ * std::min(loop.near, loop.of.extent);
    if (bytes <= static_cast<std::int64_t>(part_bytes) && windows_below(inner) <= kMostWindows) break;
  }
  return inner;
}

void LayoutParts::choose(std::size_t part_bytes, PartOrder order) {
  const auto wanted = static_cast<std::int64_t>(part_bytes);
  // As many indexes of a loop as fit if one has `bytes`, whole blocks if there is room for them.
  const auto step_of = [&](const Loop& loop, std::int64_t bytes, std::int64_t limit) {
    const std::int64_t most = std::clamp<std::int64_t>(std::min(wanted / bytes, limit), 1, loop.of.extent);
    return most > loop.near ? most / loop.near * loop.near : most;
  };
  for (outer_ = 0; outer_ < loops_.size(); ++outer_) {
    const Loop& loop = loops_[outer_];
    const std::int64_t near = std::min(loop.near, loop.of.extent), bytes = loop.of.stride * size_;
    const bool is_last = outer_ + 1 == loops_.size(), is_fast = order == PartOrder::fast;
    inner_ = outer_;
    outer_step_ = inner_step_ = step_of(loop, bytes, loop.of.extent);
    stretch_ = loop.of.stride;
    const bool is_near = near == 1 || !is_fast || windows_below(outer_) <= kMostWindows;
    if ((near * bytes <= wanted && is_near) || is_last) break;
    if (near == 1 || !is_fast) continue;
    outer_step_ = near;
    inner_ = choose_inner(part_bytes);
    if (inner_ == outer_) break;
    const Loop& other = loops_[inner_];
    const std::int64_t most = kMostWindows / windows_below(inner_) * other.in_indexes;
    const bool is_wide = windows_in(inner_, other.of.extent) > 1;
    inner_step_ = step_of(other, near * other.of.stride * size_, is_wide ? most : other.of.extent);
    stretch_ = inner_step_ * other.of.stride;
    break;
  }
  for (std::size_t i = 0; i <= inner_; ++i) digits_.push_back(i);
  const auto step_in = [&](std::size_t i) {
    return static_cast<double>(loops_[i].in_stride) / static_cast<double>(loops_[i].in_indexes);
  };
  // The input is gone through once as far as that goes.
  if (order == PartOrder::fast) std::ranges::stable_sort(digits_, std::ranges::greater(), step_in);
  count_ = 1;
  for (const std::size_t i : digits_) count_ *= static_cast<std::size_t>(parts_of(i));
  buffer_bytes_ = static_cast<std::size_t>(outer_step_ * stretch_ * size_);
  if (inner_ != outer_) place_in_buffer();
}

// What may be mapped for a part.
std::int64_t LayoutParts::bytes_near_part() const {
  std::int64_t bytes = kNearBytes;
  for (std::size_t i = outer_; i < loops_.size() && bytes <= kMostNearBytes; ++i) {
    const Loop& loop = loops_[i];
    const std::int64_t count = i == outer_   ? outer_step_
                               : i == inner_ ? inner_step_
                               : i < inner_  ? 1
                                             : loop.of.extent;
    const std::int64_t stride = loop.in_stride * size_, places = ceil_div(count, loop.in_indexes);
    bytes *= stride >= kNearBytes ? places : 1 + stride * (places - 1) / kNearBytes;
  }
  return bytes;
}

// In the buffer stretches lie closer together than in the result.
void LayoutParts::place_in_buffer() {
  AxisMap& axis = plan_.axis(loops_[outer_].of.axis);
  if (from_stored_) axis.plain_stride = stretch_;
  for (std::size_t i = 0; i < axis.level_count && !from_stored_; ++i)
    if (axis.levels[i].unit == loops_[outer_].of.unit) axis.levels[i].stride = stretch_;
}

// In how many parts a loop up to inner_ is divided.
std::int64_t LayoutParts::parts_of(std::size_t loop) const {
  const std::int64_t extent = loops_[loop].of.extent;
  if (loop == outer_) return ceil_div(extent, outer_step_);
  return loop == inner_ ? ceil_div(extent, inner_step_) : extent;
}

LayoutParts::Position LayoutParts::position_of(std::size_t index) const {
  std::array<std::int64_t, StoredLoop::kMost + 1> indexes{};
  for (std::size_t digit = digits_.size(); digit-- > 0;) {
    const auto parts = static_cast<std::size_t>(parts_of(digits_[digit]));
    indexes[digits_[digit]] = static_cast<std::int64_t>(index % parts);
    index /= parts;
  }
  Position position;
  position.window.in_stored = !from_stored_;
  for (std::size_t i = 0; i <= inner_; ++i) {
    const Loop& loop = loops_[i];
    const std::int64_t step = i == outer_ ? outer_step_ : i == inner_ ? inner_step_ : 1;
    const std::int64_t begin = indexes[i] * step, count = std::min(step, loop.of.extent - begin);
    position.offset += begin * loop.of.stride;
    position.buffer_offset += begin * (i == outer_ ? stretch_ : loop.of.stride);
    if (i == outer_) position.outer = count;
    if (i == inner_) position.inner = count;
    if (loop.is_group) {
      position.window.groups_begin = begin;
      position.window.groups_end = begin + count;
      continue;
    }
    const auto axis = static_cast<std::size_t>(loop.of.axis);
    position.window.begin[axis] += begin * loop.of.unit;
    position.window.end[axis] = position.window.begin[axis] + count * loop.of.unit;
  }
  return position;
}

Result<> LayoutParts::make_part(std::size_t index, std::span<std::byte> buffer, const Visit& visit) const {
  const Position position = position_of(index);
  if (!from_stored_ && plan_.stored_count != plan_.plain_count)
    std::memset(buffer.data(), 0, static_cast<std::size_t>(position.outer * stretch_ * size_));
  for_each_box(plan_, position.window, [&](const LayoutBox& box) {
    const std::int64_t stored = from_stored_ ? box.stored_offset : box.stored_offset - position.buffer_offset;
    const std::int64_t plain = from_stored_ ? box.plain_offset - position.buffer_offset : box.plain_offset;
    const std::byte* from = in_.data + (from_stored_ ? stored : plain) * size_;
    CopyBox copy = copy_of(box, size_, from_stored_);
    if (reader_) {
      stage_box(static_cast<std::size_t>(size_), copy, from, buffer.data() + buffer_bytes_, *reader_);
      from = buffer.data() + buffer_bytes_;
    }
    copy_box(static_cast<std::size_t>(size_), copy, from,
             buffer.data() + (from_stored_ ? plain : stored) * size_, 1);
  });
  const bool is_one = inner_ == outer_;
  const std::int64_t count = is_one ? 1 : position.outer;
  const std::int64_t elements =
      is_one ? position.outer * stretch_ : position.inner * loops_[inner_].of.stride;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t offset = (position.offset + i * loops_[outer_].of.stride) * size_;
    OPDUMP_CHECK_OK(visit(static_cast<std::uint64_t>(offset),
                          buffer.subspan(static_cast<std::size_t>(i * stretch_ * size_),
                                         static_cast<std::size_t>(elements * size_))));
  }
  return ok();
}

}  // namespace opdump::math
