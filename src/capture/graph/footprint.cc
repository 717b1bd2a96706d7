#include "capture/graph/footprint.h"

#include <algorithm>
#include <cstdlib>

#include "model/dtype.h"

namespace opdump::capture {
namespace {

std::uint64_t add_to_hash(std::uint64_t hash, std::int64_t number) {
  hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

// From the first to after the last byte, in steps of `period` bytes wherever a dimension moves by a multiple
// of it: these leave the place within a period as it is.
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

}  // namespace

Footprint make_footprint(std::uint64_t block, std::int64_t offset, const model::TensorView& view) {
  Footprint print{.block = block, .begin = offset, .end = offset};
  if (block == 0) return print;
  print.element_bytes = std::max<std::int64_t>(1, model::dtype_info(view.dtype).bits / 8);
  print.view = add_to_hash(add_to_hash(1, offset), static_cast<std::int64_t>(view.dtype));
  for (const std::int64_t size : view.shape.dims()) print.view = add_to_hash(print.view, size);
  for (const std::int64_t stride : view.strides.dims()) print.view = add_to_hash(print.view, stride);
  const auto places = static_cast<std::int64_t>(view.element_count());
  if (places == 0) return print;
  const auto for_each_dimension = [&](const auto& body) {
    for (std::size_t axis = 0; axis < view.shape.rank(); ++axis) {
      const std::int64_t size = view.shape[axis], stride = view.strides[axis] * print.element_bytes;
      if (size != 1 && stride != 0) body(size, stride);
    }
  };
  for_each_dimension([&](std::int64_t size, std::int64_t stride) {
    (stride < 0 ? print.begin : print.end) += (size - 1) * stride;
  });
  print.end += print.element_bytes;
  if (places * print.element_bytes >= print.end - print.begin) return print;  // most have no holes
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

}  // namespace opdump::capture
