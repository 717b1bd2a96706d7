#include "math/layout/layout_table.h"

#include <algorithm>
#include <string>

namespace opdump::math {
namespace {

using model::Format;
using enum Axis;
using enum Unit;

constexpr Atom kNchw[] = {{n, one, 0}, {c, one, 1}, {h, one, 2}, {w, one, 3}};
constexpr Atom kNhwc[] = {{n, one, 0}, {h, one, 1}, {w, one, 2}, {c, one, 3}};
constexpr Atom kHwcn[] = {{h, one, 0}, {w, one, 1}, {c, one, 2}, {n, one, 3}};
constexpr Atom kChwn[] = {{c, one, 0}, {h, one, 1}, {w, one, 2}, {n, one, 3}};
constexpr Atom kNcdhw[] = {{n, one, 0}, {c, one, 1}, {d, one, 2}, {h, one, 3}, {w, one, 4}};
constexpr Atom kNdhwc[] = {{n, one, 0}, {d, one, 1}, {h, one, 2}, {w, one, 3}, {c, one, 4}};
constexpr Atom kDhwcn[] = {{d, one, 0}, {h, one, 1}, {w, one, 2}, {c, one, 3}, {n, one, 4}};
constexpr Atom kDhwnc[] = {{d, one, 0}, {h, one, 1}, {w, one, 2}, {n, one, 3}, {c, one, 4}};
constexpr Atom kNcl[] = {{n, one, 0}, {c, one, 1}, {w, one, 2}};
constexpr Atom kNc[] = {{n, one, 0}, {c, one, 1}};
constexpr Atom kCn[] = {{c, one, 0}, {n, one, 1}};

constexpr Atom kNc1hwc0[] = {{n, one, 0}, {c, c0, 1}, {h, one, 2}, {w, one, 3}, {c, one, 4}};
constexpr Atom kNdc1hwc0[] = {{n, one, 0}, {d, one, 1}, {c, c0, 2}, {h, one, 3}, {w, one, 4}, {c, one, 5}};
constexpr Atom kC1hwc0[] = {{n, c0, 0}, {h, one, 1}, {w, one, 2}, {n, one, 3}};
constexpr Atom kFractalZ[] = {{c, c0, 0}, {h, one, 0}, {w, one, 0}, {n, n0, 1}, {n, one, 2}, {c, one, 3}};
constexpr Atom kFractalZ3d[] = {{d, one, 0}, {c, c0, 0},  {h, one, 0}, {w, one, 0},
                                {n, n0, 1},  {n, one, 2}, {c, one, 3}};
constexpr Atom kFractalZ3dTranspose[] = {{d, one, 0}, {c, c0, 1},  {h, one, 0}, {w, one, 0},
                                         {n, n0, 0},  {n, one, 2}, {c, one, 3}};
constexpr Atom kFractalNz[] = {{batch, one, 0}, {w, c0, 1}, {h, n0, 2}, {h, one, 3}, {w, one, 4}};
constexpr Atom kFractalZz[] = {{batch, one, 0}, {h, c0, 1}, {w, c0, 2}, {h, one, 3}, {w, one, 4}};
constexpr Atom kC1hwncoc0[] = {{c, c0, 0}, {h, one, 1}, {w, one, 2}, {n, one, 3}, {c, one, 4}, {c, one, 5}};
constexpr Atom kFractalZC04[] = {{w, quarter_c0, 0}, {n, n0, 1}, {n, one, 2}, {w, one, 3}, {c, one, 3}};
constexpr Atom kFractalZWino[] = {{c, c0, 0},  {n, sixteen, 1}, {n, eight, 2}, {h, one, 3},
                                  {w, one, 3}, {n, one, 4},     {c, one, 5}};
constexpr Atom kFractalZnLstm[] = {{c, c0, 0}, {n, n0, 1}, {n, one, 2}, {c, one, 3}};

constexpr LayoutRow kLayouts[] = {
    {Format::nchw, kNchw, 4},
    {Format::nhwc, kNhwc, 4},
    {Format::hwcn, kHwcn, 4},
    {Format::chwn, kChwn, 4},
    {Format::ncdhw, kNcdhw, 5},
    {Format::ndhwc, kNdhwc, 5},
    {Format::dhwcn, kDhwcn, 5},
    {Format::dhwnc, kDhwnc, 5},
    {Format::ncl, kNcl, 3},
    {Format::nc, kNc, 2},
    {Format::cn, kCn, 2},
    {Format::nc1hwc0, kNc1hwc0, 5},
    {Format::nc1hwc0_c04, kNc1hwc0, 5, Special::none, 4},
    {Format::ndc1hwc0, kNdc1hwc0, 6},
    {Format::c1hwc0, kC1hwc0, 4},
    {Format::fractal_z, kFractalZ, 4, Special::filter, 0, 2},
    {Format::fractal_z_3d, kFractalZ3d, 4, Special::filter, 0, 2},
    {Format::fractal_z_3d_transpose, kFractalZ3dTranspose, 4, Special::none, 0, 2},
    {Format::fractal_nz, kFractalNz, 5, Special::matrix, 0, 3},
    {Format::fractal_nz_c0_2, kFractalNz, 5, Special::matrix, 2, 3},
    {Format::fractal_nz_c0_4, kFractalNz, 5, Special::matrix, 4, 3},
    {Format::fractal_nz_c0_8, kFractalNz, 5, Special::matrix, 8, 3},
    {Format::fractal_nz_c0_16, kFractalNz, 5, Special::matrix, 16, 3},
    {Format::fractal_nz_c0_32, kFractalNz, 5, Special::matrix, 32, 3},
    {Format::fractal_zz, kFractalZz, 5, Special::matrix},
    {Format::c1hwncoc0, kC1hwncoc0, 6},
    {Format::fractal_z_c04, kFractalZC04, 4, Special::four_channels, 0, 2},
    {Format::fractal_z_wino, kFractalZWino, 6},
    {Format::fractal_zn_lstm, kFractalZnLstm, 4, Special::lstm, 0, 2},
};

bool has_axis(const LayoutRow* row, Axis axis) {
  return row != nullptr &&
         std::ranges::any_of(row->atoms, [&](const Atom& atom) { return atom.axis == axis; });
}

Error wrong_rank(Format format, std::size_t rank) {
  return Error(Code::corrupt, "a tensor of " + std::to_string(rank) + " dimensions cannot be " +
                                  std::string(model::format_name(format)));
}

AxisList list(std::span<const Atom> atoms) {
  AxisList result;
  for (const Atom& atom : atoms) result.axes[result.count++] = atom.axis;
  return result;
}

}  // namespace

bool LayoutRow::is_plain() const {
  return atoms.size() == rank &&
         std::ranges::all_of(atoms, [](const Atom& atom) { return atom.unit == Unit::one; });
}

const LayoutRow* find_layout(Format format) {
  for (const LayoutRow& row : kLayouts)
    if (row.format == format) return &row;
  return nullptr;
}

Result<AxisList> axes_of(Format format, std::size_t rank, const LayoutRow* blocked) {
  if (blocked != nullptr && blocked->special == Special::matrix)
    return AxisList{{batch, h, w}, 3};  // the caller joins the batch dimensions
  if (format == Format::nd) {
    if (has_axis(blocked, d)) return rank == 5 ? Result<AxisList>(list(kNcdhw)) : wrong_rank(format, rank);
    const bool is_filter =
        has_axis(blocked, n) && has_axis(blocked, c) && blocked->n0_dim >= 0 && !has_axis(blocked, d);
    if (is_filter) return rank == 2 ? Result<AxisList>(list(kCn)) : wrong_rank(format, rank);
    return Error(Code::unsupported, "ND does not say which dimension is which");
  }
  const LayoutRow* row = find_layout(format);
  if (row == nullptr || !row->is_plain())
    return Error(Code::unsupported, std::string(model::format_name(format)) + " is no plain layout");
  if (row->rank != rank) return wrong_rank(format, rank);
  return list(row->atoms);
}

}  // namespace opdump::math
