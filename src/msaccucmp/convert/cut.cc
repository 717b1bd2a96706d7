#include "msaccucmp/convert/cut.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "msaccucmp/judge/layout_change.h"
#include "msaccucmp/log.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

using model::Format;
using model::Shape;

constexpr std::size_t kLeastRank = 4, kMostRank = 5;

std::size_t ones_of(const Shape& shape) {
  return static_cast<std::size_t>(std::ranges::count(shape.dims(), 1));
}

// A tensor of fewer dimensions stays as it is, if only dimensions of 1 are missing.
std::optional<Shape> check_fewer(const Shape& have, const Shape& want, Log& log) {
  const Shape left = without_ones(have), right = without_ones(want);
  if (ones_of(have) == have.rank() && ones_of(want) == want.rank()) return have;
  if (left.rank() != right.rank())
    log.warn("Due to the different shapes on the left and right,the left dump data" + shape_text(left) +
             " can not be compared to the right dump data" + shape_text(right) +
             ". Please check the batch of the dump data or the shape may be changed due to optimization.");
  return left == right ? std::optional(have) : std::nullopt;
}

// A dimension of a view in memory.
struct ViewDim {
  std::int64_t size = 1, stride = 0;
};

bool is_contiguous(std::span<const ViewDim> dims, bool is_fortran) {
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const ViewDim& dim = dims[is_fortran ? i : dims.size() - 1 - i];
    if (dim.size != 1 && dim.stride != expected) return false;
    expected *= dim.size;
  }
  return true;
}

// The order of the stored dimensions in the result; empty if the original copies.
std::vector<std::size_t> order_of(Format from, Format to) {
  if (from == Format::nhwc)
    return to == Format::nchw ? std::vector<std::size_t>{0, 3, 1, 2} : std::vector<std::size_t>{1, 2, 3, 0};
  if (from == Format::nchw) return {0, 2, 3, 1};
  if (from == Format::hwcn)
    return to == Format::nchw ? std::vector<std::size_t>{3, 2, 0, 1} : std::vector<std::size_t>{3, 0, 1, 2};
  return {};
}

// C1 and C0 as one dimension, if they are one without a copy; `plane` elements lie between them.
std::optional<ViewDim> merged_channels(std::int64_t c1, std::int64_t plane, std::int64_t c0) {
  if (c1 != 1 && c0 != 1 && plane != 1) return std::nullopt;
  return ViewDim{c1 * c0, c0 == 1 && c1 != 1 ? plane : 1};
}

// What the original makes of NC1HWC0 and NDC1HWC0 without a copy.
std::vector<ViewDim> view_of_blocks(const arrays::LayoutChange& change) {
  const Shape &s = change.stored, strides = model::row_major_strides(change.stored);
  const bool is_volume = change.from == Format::ndc1hwc0;
  const std::size_t at = is_volume ? 2 : 1;  // C1
  if (s.rank() != at + 4) return {};
  const auto c = merged_channels(s[at], s[at + 1] * s[at + 2], s[at + 3]);
  if (!c) return {};
  const auto dim = [&](std::size_t i) { return ViewDim{s[i], strides[i]}; };
  if (is_volume) return {dim(0), *c, dim(1), dim(3), dim(4)};
  if (change.to == Format::nchw) return {dim(0), *c, dim(2), dim(3)};
  if (change.to == Format::nhwc) return {dim(0), dim(2), dim(3), *c};
  return {dim(2), dim(3), *c, dim(0)};
}

// Filters of one block of channels: HWCN of FRACTAL_Z takes no copy.
std::vector<ViewDim> view_of_filters(const arrays::LayoutChange& change) {
  const Shape &s = change.stored, &made = change.made;
  if (s.rank() != 4 || change.to != Format::hwcn || change.groups > 1 || made[2] != s[3]) return {};
  const std::int64_t plane = made[3] * s[3];  // elements of a place of the window
  return {{made[0], made[1] * plane}, {made[1], plane}, {made[2], 1}, {made[3], s[3]}};
}

std::vector<ViewDim> view_of(const arrays::LayoutChange& change) {
  std::vector<ViewDim> view;
  if (change.from == Format::fractal_z) return view_of_filters(change);
  if (change.from == Format::nc1hwc0 || change.from == Format::ndc1hwc0) return view_of_blocks(change);
  if (change.stored.rank() != 4 || change.to == Format::fractal_z) return view;
  const Shape strides = model::row_major_strides(change.stored);
  for (const std::size_t dim : order_of(change.from, change.to))
    view.push_back({change.stored[dim], strides[dim]});
  return view;
}

}  // namespace

std::optional<Shape> cut_shape(const Shape& have, const Shape& want, Log& log) {
  if (have.rank() < want.rank()) return check_fewer(have, want, log);
  const Shape whole = padded(have, kLeastRank), wanted = padded(want, whole.rank());
  const bool is_vector = ones_of(have) + 1 >= have.rank();
  if (is_vector && model::element_count(have) == model::element_count(want)) return have;
  const auto differs = std::ranges::mismatch(whole.dims(), wanted.dims());
  if (differs.in1 == whole.dims().end()) return have;
  if (*differs.in1 < *differs.in2) return std::nullopt;
  if (whole.rank() > kMostRank) return have;
  Shape result = whole;
  for (std::size_t i = 0; i < result.rank(); ++i) result.dims()[i] = std::min(whole[i], wanted[i]);
  return result;
}

bool is_saved_as_fortran(const arrays::LayoutChange& change) {
  std::vector<ViewDim> view = view_of(change);
  if (view.empty() || view.size() != change.result.rank()) return false;
  for (std::size_t i = 0; i < view.size(); ++i) view[i].size = change.result[i];
  if (model::element_count(change.result).value_or(0) == 0) return false;
  return is_contiguous(view, true) && !is_contiguous(view, false);
}

}  // namespace opdump::msaccucmp
