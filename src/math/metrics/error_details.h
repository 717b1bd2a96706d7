// Where and how two tensors differ: what a person looks at after the metrics (metrics.h), whose rules hold
// here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "math/metrics/metrics.h"
#include "model/tensor_view.h"

namespace opdump::math {

// The share of elements whose error is at most `value`.
struct ErrorQuantile {
  double share = 0, value = 0;
};

// Elements by value, in bins of equal width from `lowest` to `highest`; NaN and infinities beside them.
struct ValueHistogram {
  static constexpr std::size_t kBins = 48;
  double lowest = 0, highest = 0;  // of both tensors, so that their bins are the same
  std::array<std::uint64_t, kBins> counts{};
  std::uint64_t nan_count = 0, inf_count = 0;
};

// |actual - golden| of a tensor as a picture: the dimensions before `across` from top to bottom, the others
// from left to right, so that the picture has as many cells as possible; a vector in lines. Each cell is the
// largest of its elements. NaN: an element is NaN or inf on one side.
struct ErrorMap {
  static constexpr std::size_t kMostCells = 64;  // in each direction
  std::size_t rows = 0, columns = 0;
  std::size_t across = 0;
  std::vector<float> cells;
};

// |actual - golden| of a tensor of three and more dimensions as a grid with a cell count for each dimension,
// at most kMostCells in all; each cell is the largest of its elements. A cell is 0 for none, 255 for NaN or
// inf against something else, else 254 + 8 log2(cell / largest), at least 1.
struct ErrorPlanes {
  static constexpr std::size_t kMostCells = 4096, kMostAcross = 16;  // in all; in the last two dimensions
  std::vector<std::size_t> sizes;                                    // cells of each dimension
  double largest = 0;                                                // finite one
  std::vector<std::uint8_t> cells;
};

// The largest |actual - golden| along one dimension, in at most kMostCells cells.
struct ErrorProfile {
  std::size_t axis = 0;
  std::vector<float> cells;
};

// How many elements have which golden and actual value, between the same ends as the histograms: rows are
// actual, from the lowest; columns golden. A cell is 0 for none, else 1 + 16 log2(count), at most 255.
struct ErrorScatter {
  static constexpr std::size_t kCells = 40;  // in each direction
  std::array<std::uint8_t, kCells * kCells> cells{};
};

// Elements by |a - g| in units in the last place of golden, of the coarser dtype: [0] those that are equal,
// [1] below 1, [k] from 2^(k-2) to below 2^(k-1), the last one all above, with NaN and inf against something
// else.
using UlpHistogram = std::array<std::uint64_t, 34>;

// Bits of a cell that has elements which are not finite.
enum NotFiniteBits : std::uint8_t { golden_nan = 1, golden_inf = 2, actual_nan = 4, actual_inf = 8 };

struct WorstElement {
  std::uint64_t index = 0;  // row-major
  double golden = 0, actual = 0;
};

struct ErrorDetails {
  // The scaled error is |a - g| / (atol + rtol |g|): an element mismatches where it exceeds 1, and would
  // mismatch under a tolerance k times as wide where it exceeds k. Values below the largest are rounded up by
  // at most an eighth of an octave; the largest is exact. inf: no tolerance of this form accepts it.
  std::vector<ErrorQuantile> scaled;
  // The quantiles of |a - g|, in the same way.
  std::vector<ErrorQuantile> absolute;
  std::vector<WorstElement> worst;  // by |a - g|, at most 20; NaN and inf against something else first
  // Only with pictures:
  ValueHistogram golden, actual;
  ErrorMap map;
  std::vector<ErrorProfile> profiles;
  std::vector<std::uint8_t> not_finite;  // NotFiniteBits for each cell of `map`; empty if all are finite
  std::optional<ErrorPlanes> planes;
  ErrorScatter scatter;
  std::optional<UlpHistogram> ulps;  // of floats
};

// Two passes over both tensors (one without `pictures`), which must have the same shape. Memory does not grow
// with them. Errors: unsupported -- complex elements, or such without statistics; different shapes.
Result<ErrorDetails> examine_errors(const model::TensorView& actual, const model::TensorView& golden,
                                    Tolerance tolerance, bool pictures);

}  // namespace opdump::math
