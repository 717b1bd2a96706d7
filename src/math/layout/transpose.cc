#include "math/layout/transpose.h"

#include <cstdint>
#include <cstring>

#include "math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "math/layout/transpose.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace opdump::math::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Element16 {
  std::uint64_t words[2];
};

template <typename T>
struct Matrix {
  const std::byte* in;
  std::ptrdiff_t in_step;
  std::byte* out;
  std::ptrdiff_t out_step;

  const std::byte* source(std::size_t i, std::size_t j) const {
    return in + static_cast<std::ptrdiff_t>(i * sizeof(T)) + static_cast<std::ptrdiff_t>(j) * in_step;
  }
  std::byte* target(std::size_t i, std::size_t j) const {
    return out + static_cast<std::ptrdiff_t>(i) * out_step + static_cast<std::ptrdiff_t>(j * sizeof(T));
  }
};

template <typename T>
HWY_INLINE void transpose_edge(const Matrix<T>& m, std::size_t i_begin, std::size_t i_end,
                               std::size_t j_begin, std::size_t j_end) {
  for (std::size_t i = i_begin; i < i_end; ++i) {
    const std::byte* from = m.source(i, j_begin);
    std::byte* to = m.target(i, j_begin);
    for (std::size_t j = j_begin; j < j_end; ++j, from += m.in_step, to += sizeof(T))
      std::memcpy(to, from, sizeof(T));
  }
}

#if HWY_TARGET != HWY_SCALAR
// kN x kN elements, a vector of 16 bytes to each row: log2(kN) rounds in which every vector is interleaved
// with the one half the tile away move each element to its transposed place.
template <typename T, class V, std::size_t kN>
HWY_INLINE void transpose_vectors(V (&from)[kN]) {
  const hn::FixedTag<T, kN> d;
  V to[kN];
  HWY_UNROLL(4)
  for (std::size_t round = 1; round < kN; round *= 2) {
    HWY_UNROLL(8)
    for (std::size_t k = 0; k < kN / 2; ++k) {
      to[2 * k] = hn::InterleaveLower(d, from[k], from[k + kN / 2]);
      to[2 * k + 1] = hn::InterleaveUpper(d, from[k], from[k + kN / 2]);
    }
    HWY_UNROLL(16)
    for (std::size_t k = 0; k < kN; ++k) from[k] = to[k];
  }
}

template <typename T>
HWY_INLINE void transpose_tile(const Matrix<T>& m, std::size_t i, std::size_t j) {
  constexpr std::size_t kN = 16 / sizeof(T);
  const hn::FixedTag<T, kN> d;
  hn::Vec<decltype(d)> rows[kN];
  HWY_UNROLL(16)
  for (std::size_t k = 0; k < kN; ++k) rows[k] = hn::LoadU(d, reinterpret_cast<const T*>(m.source(i, j + k)));
  transpose_vectors<T>(rows);
  HWY_UNROLL(16)
  for (std::size_t k = 0; k < kN; ++k) hn::StoreU(rows[k], d, reinterpret_cast<T*>(m.target(i + k, j)));
}

// Transposes a tile of half as many rows.
template <typename T>
HWY_INLINE void transpose_half_tile(const Matrix<T>& m, std::size_t i, std::size_t j) {
  constexpr std::size_t kN = 16 / sizeof(T);
  const hn::FixedTag<T, kN> d;
  const hn::Half<decltype(d)> half;
  hn::Vec<decltype(d)> rows[kN];
  HWY_UNROLL(16)
  for (std::size_t k = 0; k < kN; ++k)
    rows[k] = hn::ZeroExtendVector(d, hn::LoadU(half, reinterpret_cast<const T*>(m.source(i, j + k))));
  transpose_vectors<T>(rows);
  HWY_UNROLL(8)
  for (std::size_t k = 0; k < kN / 2; ++k) hn::StoreU(rows[k], d, reinterpret_cast<T*>(m.target(i + k, j)));
}
#endif

// One cache line of the input's rows by a stretch of its columns.
template <typename T>
HWY_INLINE void transpose_strip(const Matrix<T>& m, std::size_t i_begin, std::size_t i_end,
                                std::size_t j_begin, std::size_t j_end) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) < 16) {
    constexpr std::size_t kN = 16 / sizeof(T);
    const std::size_t i_tiles = i_begin + (i_end - i_begin) / kN * kN;
    const std::size_t j_tiles = j_begin + (j_end - j_begin) / kN * kN;
    // Columns that lie near each other are read in one stream. Those that do not are read line by line
    // anyway, and it pays to write in few streams: rows a power of two apart drive each other out of the
    // cache.
    if (m.in_step > 0 && m.in_step <= 512) {
      for (std::size_t j = j_begin; j < j_tiles; j += kN)
        for (std::size_t i = i_begin; i < i_tiles; i += kN) transpose_tile(m, i, j);
    } else {
      for (std::size_t i = i_begin; i < i_tiles; i += kN)
        for (std::size_t j = j_begin; j < j_tiles; j += kN) transpose_tile(m, i, j);
    }
    std::size_t i_rest = i_tiles;
    if constexpr (kN > 2) {
      if (i_end - i_tiles >= kN / 2) {
        for (std::size_t j = j_begin; j < j_tiles; j += kN) transpose_half_tile(m, i_tiles, j);
        i_rest += kN / 2;
        transpose_edge(m, i_tiles, i_rest, j_tiles, j_end);
      }
    }
    transpose_edge(m, i_rest, i_end, j_begin, j_end);
    transpose_edge(m, i_begin, i_tiles, j_tiles, j_end);
    return;
  }
#endif
  transpose_edge(m, i_begin, i_end, j_begin, j_end);
}

template <typename T>
void transpose_typed(const Matrix<T>& m, std::size_t rows, std::size_t columns) {
  // Every column of the input may lie on a page of its own: so many at a time that the translation buffer
  // holds them while all rows pass.
  constexpr std::size_t kColumns = 256;
  constexpr std::size_t kRows = 64 / sizeof(T);
  for (std::size_t j = 0; j < columns; j += kColumns)
    for (std::size_t i = 0; i < rows; i += kRows)
      transpose_strip(m, i, HWY_MIN(i + kRows, rows), j, HWY_MIN(j + kColumns, columns));
}

void transpose_simd(std::size_t element_bytes, const std::byte* in, std::ptrdiff_t in_step, std::byte* out,
                    std::ptrdiff_t out_step, std::size_t rows, std::size_t columns) {
  switch (element_bytes) {
    case 1:
      return transpose_typed(Matrix<std::uint8_t>{in, in_step, out, out_step}, rows, columns);
    case 2:
      return transpose_typed(Matrix<std::uint16_t>{in, in_step, out, out_step}, rows, columns);
    case 4:
      return transpose_typed(Matrix<std::uint32_t>{in, in_step, out, out_step}, rows, columns);
    case 8:
      return transpose_typed(Matrix<std::uint64_t>{in, in_step, out, out_step}, rows, columns);
    default:
      return transpose_typed(Matrix<Element16>{in, in_step, out, out_step}, rows, columns);
  }
}

}  // namespace opdump::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opdump::math {

OPDUMP_SIMD_EXPORT(transpose_simd);

void transpose(std::size_t element_bytes, const std::byte* in, std::ptrdiff_t in_step, std::byte* out,
               std::ptrdiff_t out_step, std::size_t rows, std::size_t columns) {
  OPDUMP_SIMD(transpose_simd)(element_bytes, in, in_step, out, out_step, rows, columns);
}

}  // namespace opdump::math
#endif
