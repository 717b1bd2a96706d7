#include "math/layout/device_layout.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "base/worker_pool.h"
#include "math/layout/box_copy.h"
#include "math/layout/layout_copy.h"
#include "math/layout/layout_parts.h"
#include "math/layout/layout_plan.h"
#include "math/layout/layout_table.h"

namespace opdump::math {
namespace {

using model::DType;
using model::Format;
using model::Shape;
using model::TensorView;

constexpr std::size_t kPartwiseBytes = 64 << 20;  // of a result that is made part by part
constexpr std::size_t kPartBytes = 256 << 10;     // what a part is made of and itself fit into a cache

// Which of two formats is stored in its own order and which lists its dimensions.
struct LayoutPair {
  const LayoutRow* stored = nullptr;  // null: the pair is not known
  Format plain = Format::nd;
  bool from_stored = false;
};

LayoutPair pair_of(Format from, Format to) {
  const LayoutRow *source = find_layout(from), *target = find_layout(to);
  if (source != nullptr && is_plain_layout(to)) return {source, to, true};
  if (target != nullptr && is_plain_layout(from)) return {target, from, false};
  return {};
}

Error unknown_pair(Format from, Format to) {
  return Error(Code::unsupported, "no conversion from " + std::string(model::format_name(from)) + " to " +
                                      std::string(model::format_name(to)));
}

Error no_shape_of(const LayoutRow& row, const Shape& stored) {
  return Error(Code::corrupt, "shape " + model::format_shape(stored) + " is no " +
                                  std::string(model::format_name(row.format)));
}

// How many dimensions a plain shape has that nothing else is known of.
std::size_t plain_rank(const LayoutRow& row, Format plain) {
  if (plain != Format::nd) return find_layout(plain)->rank;
  return std::ranges::any_of(row.atoms, [](const Atom& atom) { return atom.axis == Axis::d; }) ? 5 : 2;
}

// What a stored dimension adds to each axis of a plain layout: its atoms of those axes, of which there may be
// one only, as nothing distinguishes two.
Result<std::array<std::int64_t, kAxisCount>> padded_extents(const LayoutRow& row, const Shape& stored,
                                                            const AxisList& axes) {
  std::array<std::int64_t, kAxisCount> extents;
  extents.fill(1);
  for (std::size_t dim = 0; dim < stored.rank(); ++dim) {
    const Atom* owner = nullptr;
    for (const Atom& atom : row.atoms) {
      const auto* end = axes.axes.data() + axes.count;
      if (atom.dim != dim || std::find(axes.axes.data(), end, atom.axis) == end) continue;
      if (owner != nullptr || row.special == Special::four_channels)
        return Error(Code::unsupported,
                     std::string(model::format_name(row.format)) + " does not show its original shape");
      owner = &atom;
    }
    if (owner == nullptr && stored[dim] != 1) return no_shape_of(row, stored);
    const bool is_diagonal = row.format == Format::c1hwncoc0 && dim == 5;
    if (owner == nullptr || is_diagonal) continue;
    std::int64_t& extent = extents[static_cast<std::size_t>(owner->axis)];
    if (__builtin_mul_overflow(extent, stored[dim], &extent)) return no_shape_of(row, stored);
  }
  return extents;
}

// The padded matrices, behind their batch dimensions.
Result<Shape> matrix_shape_of(const LayoutRow& row, const Shape& stored) {
  if (stored.rank() < 4) return no_shape_of(row, stored);
  const std::size_t batch = stored.rank() - 4;
  const bool is_zz = row.format == Format::fractal_zz;
  std::vector<std::int64_t> dims(stored.dims().begin(),
                                 stored.dims().begin() + static_cast<std::ptrdiff_t>(batch + 2));
  const std::int64_t height = stored[batch + (is_zz ? 0 : 1)], width = stored[batch + (is_zz ? 1 : 0)];
  if (__builtin_mul_overflow(height, stored[batch + 2], &dims[batch]) ||
      __builtin_mul_overflow(width, stored[batch + 3], &dims[batch + 1]))
    return no_shape_of(row, stored);
  return Shape(std::span<const std::int64_t>(dims));
}

// The plain shape of everything that is stored, padding included.
Result<Shape> padded_shape_of(const LayoutRow& row, const Shape& stored, Format plain) {
  if (!model::element_count(stored)) return no_shape_of(row, stored);
  if (row.special == Special::matrix) return matrix_shape_of(row, stored);
  if (stored.rank() != row.rank) return no_shape_of(row, stored);
  OPDUMP_TRY(const AxisList axes, axes_of(plain, plain_rank(row, plain), row.is_plain() ? nullptr : &row));
  OPDUMP_TRY(const auto extents, padded_extents(row, stored, axes));
  std::array<std::int64_t, kAxisCount> dims{};
  for (std::size_t i = 0; i < axes.count; ++i) dims[i] = extents[static_cast<std::size_t>(axes.axes[i])];
  Shape shape(std::span<const std::int64_t>(dims.data(), axes.count));
  if (!model::element_count(shape)) return no_shape_of(row, stored);
  return shape;
}

void copy_elements(const LayoutPlan& plan, const TensorView& in, bool from_stored, std::span<std::byte> out,
                   unsigned threads) {
  const std::int64_t size = model::dtype_info(in.dtype).bits / 8;
  if (!from_stored && plan.stored_count != plan.plain_count) std::memset(out.data(), 0, out.size());
  for_each_box(plan, {}, [&](const LayoutBox& box) {
    const std::int64_t stored = box.stored_offset * size, plain = box.plain_offset * size;
    copy_box(static_cast<std::size_t>(size), copy_of(box, size, from_stored),
             in.data + (from_stored ? stored : plain), out.data() + (from_stored ? plain : stored), threads);
  });
}

Result<> check_input(const TensorView& in) {
  const std::uint64_t bits = model::dtype_info(in.dtype).bits;
  if (bits < 8 || bits % 8 != 0)
    return Error(Code::unsupported, "layouts of " + std::string(model::dtype_info(in.dtype).name));
  if (!in.is_contiguous()) return Error(Code::unsupported, "a view that is not contiguous");
  return ok();
}

Result<> check_output(const TensorView& in, const Shape& shape_to, std::span<std::byte> out) {
  const std::uint64_t bits = model::dtype_info(in.dtype).bits;
  const auto count = model::element_count(shape_to);
  if (!count || *count > UINT64_MAX / 16 || out.size() != *count * (bits / 8))
    return Error(Code::corrupt,
                 std::to_string(out.size()) + " bytes for shape " + model::format_shape(shape_to));
  return ok();
}

Result<> copy_same(const TensorView& in, const Shape& shape_to, std::span<std::byte> out) {
  if (model::element_count(shape_to) != model::element_count(in.shape))
    return Error(Code::corrupt, "shape " + model::format_shape(in.shape) + " does not become " +
                                    model::format_shape(shape_to) + " without a change of layout");
  if (!out.empty()) std::memcpy(out.data(), in.data, out.size());
  return ok();
}

// A large tensor may be mapped on both sides: part by part, so that what was read and written can be given
// back.
Result<> convert_parts(const TensorView& in, Format from, Format to, const Shape& shape_to,
                       std::int64_t groups, std::span<std::byte> out, unsigned threads) {
  OPDUMP_TRY(const LayoutParts parts,
             LayoutParts::make(in, from, to, shape_to, groups, kPartBytes, PartOrder::fast));
  std::atomic<std::size_t> next{0};
  const auto file = MappingFile::find(out);
  const auto put = [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<> {
    if (file)
      file->write(bytes, out.data() + offset);
    else
      std::memcpy(out.data() + offset, bytes.data(), bytes.size());
    return ok();
  };
  const std::size_t workers = std::min<std::size_t>(worker_count(threads), parts.count());
  parallel_for(workers, static_cast<unsigned>(workers), [&](std::size_t) {
    std::vector<std::byte> buffer(parts.buffer_bytes());
    for (std::size_t i; (i = next.fetch_add(1)) < parts.count();)
      if (!parts.make_part(i, buffer, put)) return;  // put() has no errors
  });
  return ok();
}

}  // namespace

bool is_plain_layout(Format format) {
  const LayoutRow* row = find_layout(format);
  return format == Format::nd || (row != nullptr && row->is_plain());
}

bool can_convert_layout(Format from, Format to) { return from == to || pair_of(from, to).stored != nullptr; }

BlockSizes block_sizes(DType dtype, Chip chip) {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  using enum model::DTypeKind;
  const bool integer = info.kind == signed_integer || info.kind == unsigned_integer;
  if (chip == Chip::transfers) return {16, info.bits == 8 ? 32 : 16, 16};
  if (chip == Chip::ascend035) {
    const bool wide =
        dtype == DType::int8 || dtype == DType::float32 || dtype == DType::int32 || dtype == DType::int64;
    return {1, dtype == DType::int4 ? 32 : wide ? 16 : 8, 16};
  }
  if (integer && info.bits <= 8) return {16, 256 / info.bits, 16};
  if (chip == Chip::ascend) return {};
  const bool narrow_float = info.kind == floating && (info.bits == 8 || info.bits == 4);
  if (narrow_float) return {16, 256 / info.bits, 16};
  const bool halved = dtype == DType::float32 || (dtype == DType::int32 && chip == Chip::ascend950);
  return {16, halved ? 8 : 16, 16};
}

Result<Shape> convert_shape(const Shape& shape, Format from, Format to, const LayoutOptions& options) {
  if (from == to) return shape;
  const LayoutPair pair = pair_of(from, to);
  if (pair.stored == nullptr) return unknown_pair(from, to);
  return pair.from_stored ? padded_shape_of(*pair.stored, shape, pair.plain)
                          : stored_shape_of(*pair.stored, pair.plain, shape, options);
}

bool holds_vector(const Shape& stored, Format format, std::int64_t count) {
  const LayoutRow* row = find_layout(format);
  if (row == nullptr || row->special != Special::matrix || stored.rank() != 4) return false;
  const LayoutOptions options{{stored[2], stored[3], stored[3]}, 1};
  for (const Shape& matrix : {Shape{1, count}, Shape{count, 1}}) {
    const auto blocked = convert_shape(matrix, Format::nd, format, options);
    if (blocked && *blocked == stored) return true;
  }
  return false;
}

Result<PlannedLayout> plan_layout(const TensorView& in, Format from, Format to, const Shape& shape_to,
                                  std::int64_t groups) {
  OPDUMP_CHECK_OK(check_input(in));
  const LayoutPair pair = pair_of(from, to);
  if (pair.stored == nullptr || from == to) return unknown_pair(from, to);
  const bool from_stored = pair.from_stored;
  OPDUMP_TRY(const LayoutPlan plan, make_plan(*pair.stored, from_stored ? in.shape : shape_to, pair.plain,
                                              from_stored ? shape_to : in.shape, groups, from_stored));
  return PlannedLayout{plan, from_stored};
}

CopyBox copy_of(const LayoutBox& box, std::int64_t element_bytes, bool from_stored) {
  CopyBox copy;
  for (; copy.count < box.count; ++copy.count) {
    const LayoutLoop& loop = box.loops[copy.count];
    const std::ptrdiff_t stored = loop.stored_stride * element_bytes,
                         plain = loop.plain_stride * element_bytes;
    copy.loops[copy.count] = {loop.extent, from_stored ? stored : plain, from_stored ? plain : stored};
  }
  return copy;
}

Result<> convert_layout(const TensorView& in, Format from, Format to, const Shape& shape_to,
                        std::int64_t groups, std::span<std::byte> out, unsigned threads) {
  OPDUMP_CHECK_OK(check_input(in));
  OPDUMP_CHECK_OK(check_output(in, shape_to, out));
  if (from == to) return copy_same(in, shape_to, out);
  if (out.size() > kPartwiseBytes) return convert_parts(in, from, to, shape_to, groups, out, threads);
  OPDUMP_TRY(const PlannedLayout planned, plan_layout(in, from, to, shape_to, groups));
  copy_elements(planned.plan, in, planned.from_stored, out, threads);
  return ok();
}

}  // namespace opdump::math
