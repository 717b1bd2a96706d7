#include "math/layout/layout_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace opdump::math {
namespace {

using model::Format;
using model::Shape;

constexpr std::int64_t kLimit = std::int64_t{1} << 62;

std::size_t index_of(Axis axis) { return static_cast<std::size_t>(axis); }

// a * b for numbers from 0 up, or more than kLimit.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) || product > kLimit ? INT64_MAX : product;
}

Error misfit(const LayoutRow& row, const Shape& stored, Format plain, const Shape& plain_shape) {
  return Error(Code::corrupt,
               std::string(model::format_name(row.format)) + " " + model::format_shape(stored) + " is no " +
                   std::string(model::format_name(plain)) + " " + model::format_shape(plain_shape));
}

Error too_large(const Shape& shape) {
  return Error(Code::corrupt, "shape " + model::format_shape(shape) + " is too large");
}

// The last `kept` dimensions and the product of those before them in front.
Shape join_front(const Shape& shape, std::size_t kept) {
  std::vector<std::int64_t> dims(kept + 1, 1);
  const std::size_t front = shape.rank() - std::min(kept, shape.rank());
  for (std::size_t i = 0; i < front; ++i) dims[0] = times(dims[0], shape[i]);
  for (std::size_t i = front; i < shape.rank(); ++i) dims[kept + 1 - shape.rank() + i] = shape[i];
  return Shape(std::span<const std::int64_t>(dims));
}

// What a plain shape says about each axis, and how the stored layout folds it.
struct Logical {
  std::array<std::int64_t, kAxisCount> extent, stride{}, places;  // places: positions in the stored layout
  std::int64_t groups = 1, fold = 1;

  Logical() {
    extent.fill(1);
    places.fill(1);
  }
  std::int64_t& extent_of(Axis axis) { return extent[index_of(axis)]; }
  std::int64_t& places_of(Axis axis) { return places[index_of(axis)]; }
};

Result<> place_lstm(Logical& logical, std::int64_t c0, std::int64_t n0) {
  const std::int64_t columns = logical.extent_of(Axis::n), rows = logical.extent_of(Axis::c);
  const std::int64_t hidden = columns / 4;
  if (columns % 4 != 0 || rows < hidden)
    return Error(Code::corrupt, "no weights of an LSTM: N must be 4 h and C at least h");
  logical.places_of(Axis::c) = times(ceil_div(rows - hidden, c0) + ceil_div(hidden, c0), c0);
  logical.places_of(Axis::n) = times(4 * ceil_div(hidden, n0), n0);
  return ok();
}

Result<> place_groups(Logical& logical, std::int64_t groups, std::int64_t c0, std::int64_t n0) {
  if (groups < 0 || logical.extent_of(Axis::n) % groups != 0)
    return Error(Code::corrupt, std::to_string(groups) + " groups of " +
                                    std::to_string(logical.extent_of(Axis::n)) + " filters");
  const std::int64_t cin = logical.extent_of(Axis::c), cout = logical.extent_of(Axis::n) / groups;
  const std::int64_t c_fold = c0 / std::gcd(cin, c0), n_fold = n0 / std::gcd(cout, n0);
  logical.groups = groups;
  logical.fold = std::min(times(c_fold / std::gcd(c_fold, n_fold), n_fold), groups);
  logical.places_of(Axis::c) = times(cin, logical.fold);
  logical.places_of(Axis::n) = times(cout, logical.fold);
  return ok();
}

// H and W as one axis, which every plain layout keeps together.
void join_positions(Logical& logical) {
  const std::int64_t positions = times(logical.extent_of(Axis::h), logical.extent_of(Axis::w));
  if (logical.extent_of(Axis::w) == 1) logical.stride[index_of(Axis::w)] = logical.stride[index_of(Axis::h)];
  logical.extent_of(Axis::h) = 1;
  logical.extent_of(Axis::w) = positions;
  logical.places_of(Axis::h) = 1;
  logical.places_of(Axis::w) = positions;
  logical.places_of(Axis::c) = 4;
}

Result<> place(Logical& logical, const LayoutRow& row, std::int64_t groups, std::int64_t c0,
               std::int64_t n0) {
  logical.places = logical.extent;
  if (row.special == Special::lstm) return place_lstm(logical, c0, n0);
  if (row.special == Special::filter && groups != 0 && groups != 1)
    return place_groups(logical, groups, c0, n0);
  if (row.special != Special::four_channels) return ok();
  if (logical.extent_of(Axis::c) > 4 || c0 % 4 != 0 || groups > 1)
    return Error(Code::corrupt,
                 "FRACTAL_Z_C04 holds up to 4 channels of one group in blocks of a multiple of 4");
  join_positions(logical);
  return ok();
}

// Extents and strides by axis. `shape` is valid and, for a matrix layout, batch, H and W.
Result<Logical> read_plain(const LayoutRow& row, Format plain, const Shape& shape) {
  const bool both_plain = row.is_plain();
  OPDUMP_TRY(const AxisList axes, axes_of(plain, shape.rank(), both_plain ? nullptr : &row));
  Logical logical;
  const Shape strides = model::row_major_strides(shape);
  for (std::size_t i = 0; i < axes.count; ++i) {
    logical.extent[index_of(axes.axes[i])] = shape[i];
    logical.stride[index_of(axes.axes[i])] = strides[i];
  }
  for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
    const auto has = [&](const Atom& atom) { return index_of(atom.axis) == axis; };
    if (logical.extent[axis] != 1 && std::ranges::none_of(row.atoms, has) &&
        !(row.special == Special::four_channels && axis == index_of(Axis::h)))
      return Error(Code::corrupt, std::string(model::format_name(plain)) + " " + model::format_shape(shape) +
                                      " has dimensions that " + std::string(model::format_name(row.format)) +
                                      " does not have");
  }
  return logical;
}

std::int64_t size_of(Unit unit, std::int64_t c0, std::int64_t n0) {
  switch (unit) {
    case Unit::c0:
      return c0;
    case Unit::n0:
      return n0;
    case Unit::quarter_c0:
      return c0 / 4;
    case Unit::sixteen:
      return 16;
    case Unit::eight:
      return 8;
    default:
      return 1;
  }
}

// The nearest atom outside of `atom` that counts the same axis; nothing if `atom` is the outermost.
std::optional<std::size_t> outer_atom(const LayoutRow& row, std::size_t atom) {
  for (std::size_t i = atom; i-- > 0;)
    if (row.atoms[i].axis == row.atoms[atom].axis) return i;
  return std::nullopt;
}

// How often each atom counts.
using AtomExtents = std::array<std::int64_t, 8>;

AtomExtents atom_extents(const LayoutRow& row, const Logical& logical, std::int64_t c0, std::int64_t n0) {
  AtomExtents extents{};
  for (std::size_t i = 0; i < row.atoms.size(); ++i) {
    const Atom& atom = row.atoms[i];
    const std::int64_t unit = size_of(atom.unit, c0, n0);
    const auto outer = outer_atom(row, i);
    if (!outer)
      extents[i] = ceil_div(logical.places[index_of(atom.axis)], unit);
    else if (row.atoms[*outer].unit == atom.unit)
      extents[i] = extents[*outer];
    else
      extents[i] = size_of(row.atoms[*outer].unit, c0, n0) / unit;
  }
  return extents;
}

Shape shape_of(const LayoutRow& row, const AtomExtents& extents, std::int64_t folded_groups) {
  std::vector<std::int64_t> dims(row.rank, 1);
  dims[0] = folded_groups;
  for (std::size_t i = 0; i < row.atoms.size(); ++i)
    dims[row.atoms[i].dim] = times(dims[row.atoms[i].dim], extents[i]);
  return Shape(std::span<const std::int64_t>(dims));
}

// Lets the dimensions that are one outermost atom fill the stored shape. False if another one differs from
// what is needed, or one is smaller.
bool fill_stored(const LayoutRow& row, const Shape& stored, const Shape& needed, AtomExtents& extents) {
  for (std::size_t dim = 0; dim < stored.rank(); ++dim) {
    if (stored[dim] == needed[dim]) continue;
    const auto is_here = [&](const Atom& atom) { return atom.dim == dim; };
    const auto first = std::ranges::find_if(row.atoms, is_here) - row.atoms.begin();
    const auto atom = static_cast<std::size_t>(first);
    if (stored[dim] < needed[dim] || std::ranges::count_if(row.atoms, is_here) != 1 || outer_atom(row, atom))
      return false;
    extents[atom] = stored[dim];
  }
  return true;
}

// Strides of all levels; returns the number of elements they span. The stored shape is valid and not empty.
std::int64_t set_strides(LayoutPlan& plan, const LayoutRow& row, const AtomExtents& extents) {
  std::array<std::int64_t, 8> strides{};
  std::int64_t step = 1;
  for (std::size_t i = row.atoms.size(); i-- > 0; step *= extents[i]) strides[i] = step;
  for (std::size_t i = 0; i < row.atoms.size(); ++i) {
    AxisMap& axis = plan.axis(row.atoms[i].axis);
    const auto outer = outer_atom(row, i);
    if (outer && row.atoms[*outer].unit == row.atoms[i].unit) {
      axis.levels[axis.level_count - 1].stride += strides[i];  // a diagonal
      continue;
    }
    const std::int64_t unit = size_of(row.atoms[i].unit, plan.c0, plan.n0);
    axis.levels[axis.level_count++] = {unit, strides[i]};
    plan.stored_loops[plan.stored_loop_count++] = {row.atoms[i].axis, unit, extents[i], strides[i]};
  }
  return step;
}

// A vector is one row of a matrix, unless the stored shape is that of a column.
Shape matrix_of(const LayoutRow& row, const Shape& plain, const Shape& stored, std::int64_t c0) {
  if (plain.rank() != 1) return join_front(plain, 2);
  const std::size_t height = row.format == Format::fractal_zz ? 1 : 2, width = 3 - height;
  const bool is_row = stored.rank() == 0 || (stored[height] == 1 && ceil_div(plain[0], c0) <= stored[width]);
  return is_row ? Shape{1, 1, plain[0]} : Shape{1, plain[0], 1};
}

Result<> check_shape(const Shape& shape) {
  if (!model::element_count(shape))
    return Error(Code::corrupt, "shape " + model::format_shape(shape) + " is no shape");
  return ok();
}

// The block sizes that a stored shape shows.
Result<BlockSizes> blocks_of(const LayoutRow& row, const Shape& stored) {
  if (row.is_plain()) return BlockSizes{1, 1, 1};
  BlockSizes blocks;
  blocks.c0 = stored[stored.rank() - 1];
  if (row.n0_dim >= 0) blocks.n0 = stored[static_cast<std::size_t>(row.n0_dim)];
  const bool is_fixed = row.fixed_c0 == 0 || row.fixed_c0 == blocks.c0;
  if (blocks.c0 < 1 || blocks.n0 < 1 || !is_fixed)
    return Error(Code::corrupt, "the blocks of shape " + model::format_shape(stored) + " do not fit " +
                                    std::string(model::format_name(row.format)));
  return blocks;
}

void set_axes(LayoutPlan& plan, const Logical& logical) {
  for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
    plan.axes[axis].extent = logical.extent[axis];
    plan.axes[axis].plain_stride = logical.stride[axis];
  }
}

}  // namespace

Result<LayoutPlan> make_plan(const LayoutRow& row, const Shape& stored_shape, Format plain,
                             const Shape& plain_shape, std::int64_t groups, bool may_cut) {
  OPDUMP_CHECK_OK(check_shape(stored_shape));
  OPDUMP_CHECK_OK(check_shape(plain_shape));
  const bool is_matrix = row.special == Special::matrix;
  const Error no_fit = misfit(row, stored_shape, plain, plain_shape);
  if (is_matrix ? stored_shape.rank() < 4 : stored_shape.rank() != row.rank) return no_fit;
  const Shape stored = is_matrix ? join_front(stored_shape, 4) : stored_shape;
  OPDUMP_TRY(const BlockSizes blocks, blocks_of(row, stored));
  const Shape shape = is_matrix ? matrix_of(row, plain_shape, stored, blocks.c0) : plain_shape;
  OPDUMP_TRY(Logical logical, read_plain(row, plain, shape));
  LayoutPlan plan;
  plan.special = row.special;
  plan.c0 = blocks.c0;
  plan.n0 = blocks.n0;
  plan.plain_count = static_cast<std::int64_t>(*model::element_count(plain_shape));
  plan.stored_count = static_cast<std::int64_t>(*model::element_count(stored_shape));
  OPDUMP_CHECK_OK(place(logical, row, groups, blocks.c0, blocks.n0));

  AtomExtents extents = atom_extents(row, logical, blocks.c0, blocks.n0);
  const std::int64_t folded = ceil_div(logical.groups, logical.fold);
  const Shape needed = shape_of(row, extents, folded);
  const bool may_be_larger = may_cut && logical.groups == 1 && row.special != Special::lstm;
  const bool fits = may_be_larger ? fill_stored(row, stored, needed, extents) : stored == needed;
  if (!fits || (is_matrix && stored[0] != needed[0])) return no_fit;
  set_axes(plan, logical);
  plan.groups = logical.groups;
  plan.fold = logical.fold;
  if (plan.stored_count > 0) plan.group_stride = set_strides(plan, row, extents);
  return plan;
}

Result<Shape> stored_shape_of(const LayoutRow& row, Format plain, const Shape& plain_shape,
                              const LayoutOptions& options) {
  OPDUMP_CHECK_OK(check_shape(plain_shape));
  const bool is_matrix = row.special == Special::matrix;
  const Shape shape = is_matrix ? matrix_of(row, plain_shape, {}, 1) : plain_shape;
  OPDUMP_TRY(Logical logical, read_plain(row, plain, shape));
  const std::int64_t c0 = row.fixed_c0 != 0 ? row.fixed_c0 : options.blocks.c0;
  const std::int64_t n0 = is_matrix ? options.blocks.m0 : options.blocks.n0;
  if (c0 < 1 || n0 < 1) return Error(Code::corrupt, "a block has at least one element");
  OPDUMP_CHECK_OK(place(logical, row, options.groups, c0, n0));
  Shape stored = shape_of(row, atom_extents(row, logical, c0, n0), ceil_div(logical.groups, logical.fold));
  if (is_matrix) {  // the batch dimensions as they were
    const std::size_t batch = plain_shape.rank() - std::min<std::size_t>(plain_shape.rank(), 2);
    std::vector<std::int64_t> dims(plain_shape.dims().begin(),
                                   plain_shape.dims().begin() + static_cast<std::ptrdiff_t>(batch));
    dims.insert(dims.end(), stored.dims().begin() + 1, stored.dims().end());
    stored = Shape(std::span<const std::int64_t>(dims));
  }
  if (!model::element_count(stored)) return too_large(plain_shape);
  return stored;
}

}  // namespace opdump::math
