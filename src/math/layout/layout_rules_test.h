// The layouts of cann.md 5.2 written down a second time: for each a function from the index of an element to
// its place.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "math/layout/device_layout.h"

namespace opdump::math {

using model::Format;
using model::Shape;
using Index = std::vector<std::int64_t>;

inline std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What cann.md 5.2 says of one layout: the stored shape and where an element goes.
struct LayoutRule {
  Format blocked;
  Format plain;
  Shape plain_shape;
  BlockSizes blocks;
  std::int64_t groups;
  Shape stored_shape;
  std::function<std::int64_t(const Index&)> place;  // of a plain index, as a flat stored index
};

inline std::int64_t flat(const Index& sizes, const Index& index) {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) result = result * sizes[i] + index[i];
  return result;
}

inline LayoutRule nc1hwc0(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t c0,
                          Format format = Format::nc1hwc0) {
  const std::int64_t c1 = up(c, c0);
  return {format, Format::nchw, {n, c, h, w}, {16, c0, 16}, 1, {n, c1, h, w, c0}, [=](const Index& i) {
            return flat({n, c1, h, w, c0}, {i[0], i[1] / c0, i[2], i[3], i[1] % c0});
          }};
}

// Makes a rule for the same layout next to another plain one: `order` says which dimension of the first rule
// each one is.
inline LayoutRule seen_as(const LayoutRule& rule, Format plain, const std::vector<std::size_t>& order) {
  LayoutRule result = rule;
  result.plain = plain;
  std::vector<std::int64_t> dims;
  for (const std::size_t axis : order) dims.push_back(rule.plain_shape[axis]);
  result.plain_shape = Shape(std::span<const std::int64_t>(dims));
  result.place = [place = rule.place, order](const Index& i) {
    Index original(i.size());
    for (std::size_t k = 0; k < order.size(); ++k) original[order[k]] = i[k];
    return place(original);
  };
  return result;
}

inline LayoutRule ndc1hwc0(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w,
                           std::int64_t c0) {
  const std::int64_t c1 = up(c, c0);
  return {Format::ndc1hwc0,
          Format::ncdhw,
          {n, c, d, h, w},
          {16, c0, 16},
          1,
          {n, d, c1, h, w, c0},
          [=](const Index& i) {
            return flat({n, d, c1, h, w, c0}, {i[0], i[2], i[1] / c0, i[3], i[4], i[1] % c0});
          }};
}

inline LayoutRule fractal_z(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t c0,
                            std::int64_t groups = 1) {
  const std::int64_t cin = c, cout = n / groups;
  const std::int64_t e = std::min(std::lcm(c0 / std::gcd(cin, c0), 16 / std::gcd(cout, 16)), groups);
  const std::int64_t c1 = up(cin * e, c0), no = up(cout * e, 16), folded = up(groups, e);
  return {
      Format::fractal_z,
      Format::nchw,
      {n, c, h, w},
      {16, c0, 16},
      groups,
      {folded * c1 * h * w, no, 16, c0},
      [=](const Index& i) {
        const std::int64_t g = i[0] / cout, dst_n = g % e * cout + i[0] % cout, dst_c = g % e * cin + i[1];
        const std::int64_t block = g / e * c1 + dst_c / c0;
        return (((block * h + i[2]) * w + i[3]) * no + dst_n / 16) * 16 * c0 + dst_n % 16 * c0 + dst_c % c0;
      }};
}

inline LayoutRule fractal_z_3d(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h, std::int64_t w,
                               std::int64_t c0, std::int64_t groups = 1) {
  const std::int64_t cout = n / groups;
  const std::int64_t e = std::min(std::lcm(c0 / std::gcd(c, c0), 16 / std::gcd(cout, 16)), groups);
  const std::int64_t c1 = up(c * e, c0), no = up(cout * e, 16), folded = up(groups, e);
  return {Format::fractal_z_3d,
          Format::ncdhw,
          {n, c, d, h, w},
          {16, c0, 16},
          groups,
          {folded * d * c1 * h * w, no, 16, c0},
          [=](const Index& i) {
            const std::int64_t g = i[0] / cout, dst_n = g % e * cout + i[0] % cout, dst_c = g % e * c + i[1];
            return flat({folded, d, c1, h, w, no, 16, c0},
                        {g / e, i[2], dst_c / c0, i[3], i[4], dst_n / 16, dst_n % 16, dst_c % c0});
          }};
}

inline LayoutRule fractal_z_3d_transpose(std::int64_t n, std::int64_t c, std::int64_t d, std::int64_t h,
                                         std::int64_t w, std::int64_t c0) {
  const std::int64_t c1 = up(c, c0), no = up(n, 16);
  return {Format::fractal_z_3d_transpose,
          Format::ncdhw,
          {n, c, d, h, w},
          {16, c0, 16},
          1,
          {d * h * w * no, c1, 16, c0},
          [=](const Index& i) {
            return flat({d, c1, h, w, no * 16, c0}, {i[2], i[1] / c0, i[3], i[4], i[0], i[1] % c0});
          }};
}

inline LayoutRule c1hwc0(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c0) {
  return {Format::c1hwc0,
          Format::nchw,
          {n, 1, h, w},
          {16, c0, 16},
          1,
          {up(n, c0), h, w, c0},
          [=](const Index& i) {
            return flat({up(n, c0), h, w, c0}, {i[0] / c0, i[2], i[3], i[0] % c0});
          }};
}

inline LayoutRule c1hwncoc0(std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t n, std::int64_t c0) {
  const std::int64_t c1 = up(c, c0);
  return {Format::c1hwncoc0,
          Format::hwcn,
          {h, w, c, n},
          {16, c0, 16},
          1,
          {c1, h, w, n, c0, c0},
          [=](const Index& i) {
            return flat({c1, h, w, n, c0, c0}, {i[2] / c0, i[0], i[1], i[3], i[2] % c0, i[2] % c0});
          }};
}

inline LayoutRule fractal_z_c04(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                                std::int64_t c0) {
  return {Format::fractal_z_c04,
          Format::nchw,
          {n, c, h, w},
          {16, c0, 16},
          1,
          {up(4 * h * w, c0), up(n, 16), 16, c0},
          [=](const Index& i) {
            const std::int64_t k = (i[2] * w + i[3]) * 4 + i[1];
            return flat({up(4 * h * w, c0), up(n, 16), 16, c0}, {k / c0, i[0] / 16, i[0] % 16, k % c0});
          }};
}

inline LayoutRule fractal_z_wino(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                                 std::int64_t c0) {
  const Index sizes = {up(c, c0), up(n, 16), 2, h * w, 8, c0};
  return {Format::fractal_z_wino,
          Format::nchw,
          {n, c, h, w},
          {16, c0, 16},
          1,
          Shape(std::span<const std::int64_t>(sizes)),
          [=](const Index& i) {
            return flat(sizes, {i[1] / c0, i[0] / 16, i[0] % 16 / 8, i[2] * w + i[3], i[0] % 8, i[1] % c0});
          }};
}

inline LayoutRule fractal_zn_lstm(std::int64_t input, std::int64_t hidden) {
  const std::int64_t columns = up(hidden, 16);
  const Index sizes = {up(input, 16) + columns, 4 * columns, 16, 16};
  return {Format::fractal_zn_lstm,
          Format::nd,
          {input + hidden, 4 * hidden},
          {},
          1,
          Shape(std::span<const std::int64_t>(sizes)),
          [=](const Index& i) {
            const bool is_input = i[0] < input;
            const std::int64_t row = is_input ? i[0] : i[0] - input;
            const std::int64_t row_block = row / 16 + (is_input ? 0 : up(input, 16));
            const std::int64_t gate = i[1] / hidden, column = i[1] % hidden;
            return flat(sizes, {row_block, gate * columns + column / 16, column % 16, row % 16});
          }};
}

inline LayoutRule matrix(Format format, Index batch, std::int64_t h, std::int64_t w, std::int64_t m0,
                         std::int64_t c0) {
  const bool is_zz = format == Format::fractal_zz;
  Index plain = batch, stored = batch;
  plain.insert(plain.end(), {h, w});
  if (is_zz)
    stored.insert(stored.end(), {up(h, c0), up(w, c0), c0, c0});
  else
    stored.insert(stored.end(), {up(w, c0), up(h, m0), m0, c0});
  return {format,
          Format::nd,
          Shape(std::span<const std::int64_t>(plain)),
          {m0, c0, 16},
          1,
          Shape(std::span<const std::int64_t>(stored)),
          [=](const Index& i) {
            Index place(i.begin(), i.end() - 2);
            const std::int64_t row = i[i.size() - 2], column = i[i.size() - 1];
            if (is_zz)
              place.insert(place.end(), {row / c0, column / c0, row % c0, column % c0});
            else
              place.insert(place.end(), {column / c0, row / m0, row % m0, column % c0});
            return flat(stored, place);
          }};
}

inline std::vector<LayoutRule> rules() {
  std::vector<LayoutRule> all;
  for (const std::int64_t c : {1, 15, 16, 17, 40})
    for (const std::int64_t c0 : {4, 8, 16, 32}) {
      all.push_back(nc1hwc0(2, c, 3, 5, c0));
      all.push_back(fractal_z(c + 3, c, 3, 2, c0));
      all.push_back(fractal_z_wino(c + 3, c, 3, 2, c0));
      all.push_back(ndc1hwc0(2, c, 3, 2, 5, c0));
      all.push_back(fractal_z_3d(c + 1, c, 3, 2, 2, c0));
      all.push_back(fractal_z_3d_transpose(c + 1, c, 3, 2, 2, c0));
      all.push_back(c1hwc0(c, 4, 3, c0));
      all.push_back(c1hwncoc0(3, 2, c, 2, c0));
      all.push_back(fractal_z_c04(c, c % 4 + 1, 3, 5, c0));
      all.push_back(matrix(Format::fractal_nz, {}, c, 2 * c + 1, 16, c0));
      all.push_back(matrix(Format::fractal_nz, {2, 3}, c + 1, c, c0 == 8 ? 1 : 16, c0));
      all.push_back(matrix(Format::fractal_zz, {2}, c + 1, c, 16, c0));
    }
  all.push_back(nc1hwc0(2, 7, 3, 5, 4, Format::nc1hwc0_c04));
  all.push_back(matrix(Format::fractal_nz_c0_8, {2}, 20, 21, 16, 8));
  all.push_back(nc1hwc0(1, 33, 40, 70, 16));  // large enough for every path of the transposition
  all.push_back(matrix(Format::fractal_nz, {}, 70, 200, 16, 16));
  for (const auto& [n, c, groups] : {std::array{8, 4, 2},
                                     {8, 1, 8},
                                     {64, 1, 64},
                                     {40, 3, 10},
                                     {34, 5, 17},
                                     {32, 16, 2},
                                     {48, 20, 3},
                                     {96, 24, 4}})
    for (const std::int64_t c0 : {8, 16, 32}) {
      all.push_back(fractal_z(n, c, 3, 3, c0, groups));
      all.push_back(fractal_z_3d(n, c, 2, 3, 1, c0, groups));
    }
  for (const auto& [input, hidden] : {std::array{5, 3}, {16, 16}, {40, 17}, {0, 20}, {33, 64}})
    all.push_back(fractal_zn_lstm(input, hidden));
  const std::vector<LayoutRule> first = all;
  for (const LayoutRule& rule : first) {
    if (rule.plain == Format::nchw) {
      all.push_back(seen_as(rule, Format::nhwc, {0, 2, 3, 1}));
      all.push_back(seen_as(rule, Format::hwcn, {2, 3, 1, 0}));
      all.push_back(seen_as(rule, Format::chwn, {1, 2, 3, 0}));
    } else if (rule.plain == Format::ncdhw) {
      all.push_back(seen_as(rule, Format::nd, {0, 1, 2, 3, 4}));
      all.push_back(seen_as(rule, Format::ndhwc, {0, 2, 3, 4, 1}));
      all.push_back(seen_as(rule, Format::dhwcn, {2, 3, 4, 1, 0}));
      all.push_back(seen_as(rule, Format::dhwnc, {2, 3, 4, 0, 1}));
    }
  }
  return all;
}

}  // namespace opdump::math
