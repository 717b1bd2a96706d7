#include "capture/graph/footprint.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

#include "model/dtype.h"

namespace opdump::capture {
namespace {

std::uint64_t add_to_hash(std::uint64_t hash, std::int64_t number) {
  hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

// Returns the extent from the first to after the last byte, leaving out dimensions that move by a multiple of
// `period` bytes: these leave the place within a period as it is.
std::int64_t extent_within(const Footprint& print, std::int64_t period) {
  if (print.dimensions.empty()) return print.end - print.begin;
  std::int64_t extent = print.element_bytes;
  for (const auto& [count, stride] : print.dimensions)
    if (stride % period != 0) extent += (count - 1) * stride;
  return extent;
}

// Whether both keep to parts of each period that do not meet.
bool disjoint_within(const Footprint& a, const Footprint& b, std::int64_t period) {
  const std::int64_t extent_a = extent_within(a, period), extent_b = extent_within(b, period);
  const std::int64_t distance = ((b.begin - a.begin) % period + period) % period;  // from a to the next b
  return extent_a <= distance && extent_b <= period - distance;
}

// Bytes without holes, and the dimensions in which they are repeated, the one with the largest stride first.
struct Strips {
  std::int64_t bytes = 1;
  std::vector<Footprint::Dimension> outer;
};

// Returns nothing if what a dimension repeats reaches beyond its stride.
std::optional<Strips> find_strips(const Footprint& print) {
  if (print.dimensions.empty()) return Strips{print.end - print.begin, {}};
  Strips strips{print.element_bytes, print.dimensions};
  std::ranges::sort(strips.outer, std::greater<>(), &Footprint::Dimension::stride);
  for (; !strips.outer.empty() && strips.outer.back().stride == strips.bytes; strips.outer.pop_back())
    strips.bytes *= strips.outer.back().count;
  std::int64_t extent = strips.bytes;
  for (auto dimension = strips.outer.rbegin(); dimension != strips.outer.rend(); ++dimension) {
    if (dimension->stride < extent) return std::nullopt;
    extent += (dimension->count - 1) * dimension->stride;
  }
  return strips;
}

}  // namespace

Footprint make_footprint(std::uint64_t block, std::int64_t offset, const model::TensorView& view) {
  Footprint print{.block = block, .begin = offset, .end = offset};
  if (block == 0) return print;
  print.element_bytes = std::max<std::int64_t>(1, model::dtype_info(view.dtype).bits / 8);
  print.view = add_to_hash(add_to_hash(1, offset), static_cast<std::int64_t>(view.dtype));
  for (const std::int64_t size : view.shape.dims()) print.view = add_to_hash(print.view, size);
  for (const std::int64_t stride : view.strides.dims()) print.view = add_to_hash(print.view, stride);
  if (view.element_count() == 0) return print;
  const auto for_each_dimension = [&](const auto& body) {
    for (std::size_t axis = 0; axis < view.shape.rank(); ++axis) {
      const std::int64_t size = view.shape[axis], stride = view.strides[axis] * print.element_bytes;
      if (size != 1 && stride != 0) body(size, stride);
    }
  };
  std::int64_t bytes = print.element_bytes;  // of elements that are seen once
  for_each_dimension([&](std::int64_t size, std::int64_t stride) {
    (stride < 0 ? print.begin : print.end) += (size - 1) * stride;
    bytes *= size;
  });
  print.end += print.element_bytes;
  if (bytes >= print.end - print.begin) return print;  // most have no holes
  for_each_dimension([&](std::int64_t size, std::int64_t stride) {
    print.dimensions.push_back({size, std::abs(stride)});
  });
  return print;
}

bool overlap(const Footprint& a, const Footprint& b) {
  if (a.block != b.block || a.begin >= b.end || b.begin >= a.end) return false;
  for (const Footprint* print : {&a, &b})
    for (const auto& [count, stride] : print->dimensions)
      if (disjoint_within(a, b, stride)) return false;
  return true;
}

bool contains(const Footprint& all, const Footprint& part) {
  if (all.block != part.block) return false;
  if (part.begin >= part.end || (all.view == part.view && all.view != 0)) return true;
  if (part.begin < all.begin || part.end > all.end) return false;
  if (all.dimensions.empty()) return true;
  const std::optional<Strips> strips = find_strips(all);
  if (!strips) return false;
  // Each dimension of `part` moves within the bytes without holes, or along a dimension of `all`.
  std::int64_t rest = part.begin - all.begin, extent = part.element_bytes;
  std::vector<Footprint::Dimension> moves = part.dimensions;
  if (moves.empty()) extent = part.end - part.begin;
  for (const auto& [count, stride] : strips->outer) {
    const std::int64_t first = std::min(rest / stride, count - 1);
    rest -= first * stride;
    const auto along = std::ranges::find(moves, stride, &Footprint::Dimension::stride);
    if (along == moves.end()) continue;
    if (first + along->count > count) return false;
    moves.erase(along);
  }
  for (const auto& [count, stride] : moves) extent += (count - 1) * stride;
  return rest + extent <= strips->bytes;
}

}  // namespace opdump::capture
