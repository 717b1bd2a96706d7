#include "serve/max_grid.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "base/file/resident.h"
#include "base/worker_pool.h"
#include "math/convert.h"
#include "model/position.h"

namespace opdump::serve {
namespace {

constexpr std::size_t kAtOnce = 8192;  // elements that are converted at a time

// NaN is worse than everything.
double worse(double a, double b) {
  if (std::isnan(a)) return a;
  return std::isnan(b) || std::abs(b) > std::abs(a) ? b : a;
}

// The value of largest magnitude. Lanes, because a chain of comparisons would wait for each of them.
double worst_of(const double* values, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  double low[kLanes] = {}, high[kLanes] = {}, sum[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
      sum[lane] += value * 0;  // NaN if any is NaN or infinite
    }
  double worst = 0;
  bool is_finite = true;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    worst = worse(worse(worst, high[lane]), low[lane]);
    is_finite = is_finite && sum[lane] == 0;
  }
  if (!is_finite)
    for (std::size_t j = 0; j < i; ++j) worst = worse(worst, values[j]);
  for (; i < count; ++i) worst = worse(worst, values[i]);
  return worst;
}

void subtract(const double* golden, const double* actual, double* difference, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    difference[i] = actual[i] - golden[i];
    if (std::isfinite(difference[i])) continue;
    const double g = golden[i], a = actual[i];
    const bool are_equal = a == g || (std::isnan(a) && std::isnan(g));
    if (are_equal)
      difference[i] = 0;
    else if (!std::isfinite(a) || !std::isfinite(g))
      difference[i] = NAN;
  }
}

// Row-major elements as doubles, whatever their strides.
class ElementReader {
 public:
  explicit ElementReader(const model::TensorView& view)
      : view_(view),
        is_contiguous_(view.is_contiguous()),
        element_bytes_(model::dtype_info(view.dtype).bits / 8) {}
  void read(std::uint64_t index, double* out, std::size_t count) const {
    if (is_contiguous_ && element_bytes_ > 0)
      return math::convert_elements(view_.dtype, view_.data + index * element_bytes_, out, count);
    for (std::size_t i = 0; i < count; ++i)
      out[i] = math::element_as_double(view_.dtype, view_.data, model::element_offset(view_, index + i));
  }

 private:
  const model::TensorView& view_;
  bool is_contiguous_;
  std::uint64_t element_bytes_;
};

// Where a tensor may have other elements than zeros: not in the holes of a sparse file.
class StoredElements {
 public:
  explicit StoredElements(const model::TensorView& view)
      : element_bytes_(model::dtype_info(view.dtype).bits / 8) {
    const std::span<const std::byte> bytes(view.data, view.byte_count());
    if (!view.is_contiguous() || element_bytes_ == 0) return;
    constexpr std::array<std::byte, 16> kNothing{};
    if (math::element_as_double(view.dtype, kNothing.data(), 0) != 0) return;  // a dtype without 0
    const auto file = MappingFile::find(bytes);
    if (!file) return;
    parts_.emplace();
    for (const auto& part : file->stored_parts(bytes)) {
      const auto begin = static_cast<std::uint64_t>(part.data() - view.data);
      parts_->push_back({begin, begin + part.size()});
    }
  }

  // Of `count` elements from `first` on.
  bool has_any(std::uint64_t first, std::uint64_t count) const {
    if (!parts_) return true;
    const auto behind = std::ranges::upper_bound(*parts_, first * element_bytes_, {}, &Extent::end);
    return behind != parts_->end() && behind->begin < (first + count) * element_bytes_;
  }

 private:
  struct Extent {
    std::uint64_t begin, end;  // bytes
  };
  std::uint64_t element_bytes_;
  std::optional<std::vector<Extent>> parts_;  // nothing: all
};

// One row of elements, from `from` on, into the cells of its row.
class RowPool {
 public:
  RowPool(const MatrixPair& pair, MaxGrid& grid) : grid_(grid), golden_(pair.golden), columns_(pair.columns) {
    if (pair.actual != nullptr) actual_.emplace(*pair.actual);
  }

  void add(std::uint64_t row, std::uint64_t cell_row) {
    const Region& region = grid_.region;
    std::uint64_t cell = 0;
    for (std::uint64_t column = 0; column < region.columns; column += kAtOnce) {
      const std::size_t count = std::min<std::uint64_t>(kAtOnce, region.columns - column);
      const std::uint64_t index = row * columns_ + region.column + column;
      golden_.read(index, values_[0].data(), count);
      if (actual_) {
        actual_->read(index, values_[1].data(), count);
        subtract(values_[0].data(), values_[1].data(), values_[2].data(), count);
      }
      for (std::size_t at = 0; at < count;) {
        while (MaxGrid::begin_of(cell + 1, grid_.width, region.columns) <= column + at) ++cell;
        const std::uint64_t end = MaxGrid::begin_of(cell + 1, grid_.width, region.columns);
        const std::size_t part = std::min<std::uint64_t>(count - at, end - column - at);
        for (std::size_t side = 0; side < (actual_ ? 3 : 1); ++side) {
          double& known = grid_.sides[side][cell_row * grid_.width + cell];
          known = worse(known, worst_of(values_[side].data() + at, part));
        }
        at += part;
      }
    }
  }

 private:
  MaxGrid& grid_;
  ElementReader golden_;
  std::optional<ElementReader> actual_;
  std::uint64_t columns_;
  std::array<std::array<double, kAtOnce>, 3> values_;
};

}  // namespace

Region MaxGrid::cells_of(const Region& part) const {
  const auto first = [](std::uint64_t at, std::uint64_t cells, std::uint64_t elements) {
    std::uint64_t cell = static_cast<std::uint64_t>(static_cast<unsigned __int128>(at) * cells / elements);
    while (cell + 1 < cells && begin_of(cell + 1, cells, elements) <= at) ++cell;
    return cell;
  };
  const std::uint64_t row = first(part.row - region.row, height, region.rows);
  const std::uint64_t column = first(part.column - region.column, width, region.columns);
  return {row, column, first(part.row - region.row + part.rows - 1, height, region.rows) - row + 1,
          first(part.column - region.column + part.columns - 1, width, region.columns) - column + 1};
}

MaxGrid MaxGrid::pooled(const Region& cells, std::uint64_t most) const {
  MaxGrid made;
  const auto place = [](std::uint64_t begin, std::uint64_t count, std::uint64_t of, std::uint64_t elements) {
    const std::uint64_t first = begin_of(begin, of, elements);
    return std::pair(first, begin_of(begin + count, of, elements) - first);
  };
  const auto [row, rows] = place(cells.row, cells.rows, height, region.rows);
  const auto [column, columns] = place(cells.column, cells.columns, width, region.columns);
  made.region = {region.row + row, region.column + column, rows, columns};
  made.height = std::min(cells.rows, most);
  made.width = std::min(cells.columns, most);
  for (std::size_t side = 0; side < sides.size(); ++side) {
    if (sides[side].empty()) continue;
    made.sides[side].assign(made.height * made.width, 0);
    for (std::uint64_t r = 0; r < cells.rows; ++r)
      for (std::uint64_t c = 0; c < cells.columns; ++c) {
        double& known =
            made.sides[side][r * made.height / cells.rows * made.width + c * made.width / cells.columns];
        known = worse(known, sides[side][(cells.row + r) * width + cells.column + c]);
      }
  }
  return made;
}

MaxGrid make_max_grid(const MatrixPair& pair, const Region& region, std::uint64_t most) {
  MaxGrid grid{.region = region,
               .height = std::min(region.rows, most),
               .width = std::min(region.columns, most),
               .sides = {}};
  for (std::size_t side = 0; side < (pair.actual != nullptr ? 3 : 1); ++side)
    grid.sides[side].assign(grid.height * grid.width, 0);
  const StoredElements golden(pair.golden);
  const auto actual = pair.actual == nullptr ? std::nullopt : std::optional<StoredElements>(*pair.actual);
  const auto has_any = [&](std::uint64_t first, std::uint64_t count) {
    return golden.has_any(first, count) || (actual && actual->has_any(first, count));
  };
  // Rows of cells, each of one thread.
  parallel_for(grid.height, 0, [&](std::size_t cell_row) {
    const auto pool = std::make_unique<RowPool>(pair, grid);
    const std::uint64_t end = MaxGrid::begin_of(cell_row + 1, grid.height, region.rows);
    const std::uint64_t begin = MaxGrid::begin_of(cell_row, grid.height, region.rows);
    if (!has_any((region.row + begin) * pair.columns, (end - begin) * pair.columns)) return;  // zeros
    for (std::uint64_t row = begin; row < end; ++row) {
      if (!has_any((region.row + row) * pair.columns + region.column, region.columns)) continue;
      pool->add(region.row + row, cell_row);
      give_back_when_due();
    }
  });
  return grid;
}

}  // namespace opdump::serve
