// The structure of each layout, as data. Internal to math/.
//
// A layout is a row of *atoms*, outermost first: each counts units of some number of elements along one
// logical axis. NC1HWC0 is N, C by C0, H, W, C by 1. A second atom of the same axis and unit makes a
// diagonal: the element moves along both. Several atoms may share a dimension of the stored shape: FRACTAL_Z
// stores C1, H and W as one.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "model/format.h"
#include "model/shape.h"

namespace opdump::math {

enum class Axis : std::uint8_t { batch, n, c, d, h, w };
inline constexpr std::size_t kAxisCount = 6;

enum class Unit : std::uint8_t {
  one,
  c0,
  n0,          // the second block size of the layout: M0 of matrices, N0 of filters
  quarter_c0,  // positions whose 4 channels fill a block
  sixteen,
  eight,
};

struct Atom {
  Axis axis;
  Unit unit;
  std::uint8_t dim;  // of the stored shape
};

enum class Special : std::uint8_t {
  none,
  matrix,  // blocks the last two dimensions whatever their names, behind any number of batch dimensions
  filter,  // of a convolution that may have groups
  four_channels,  // H and W are one axis; C has 4 places
  lstm,           // C is input and hidden state, N four gates, each padded by itself
};

struct LayoutRow {
  model::Format format;
  std::span<const Atom> atoms;
  std::uint8_t rank;  // of the stored shape, without batch dimensions
  Special special = Special::none;
  std::int64_t fixed_c0 = 0;  // 0: any
  std::int8_t n0_dim = -1;    // where the stored shape shows n0

  bool is_plain() const;
};

// The row of `format`; null if its element order is not known.  ND has none: see axes_of.
const LayoutRow* find_layout(model::Format format);

// The axes of a plain shape of `rank` dimensions in `format`, for a conversion from or to `blocked` (null:
// plain too). Errors: corrupt -- the rank is wrong for the format; unsupported -- the names do not determine
// the axes.
struct AxisList {
  std::array<Axis, kAxisCount> axes{};
  std::size_t count = 0;
};
Result<AxisList> axes_of(model::Format format, std::size_t rank, const LayoutRow* blocked);

}  // namespace opdump::math
