#include "serve/max_grid.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "base/file/file.h"
#include "base/file/file_replacement.h"

namespace opdump::serve {
namespace {

using model::DType;
using model::Shape;
using model::TensorView;

// Every cell by looking at each element of the matrix.
std::vector<double> by_hand(const std::vector<float>& values, const MaxGrid& grid, std::uint64_t columns) {
  std::vector<double> cells(grid.height * grid.width, 0);
  for (std::uint64_t r = 0; r < grid.region.rows; ++r)
    for (std::uint64_t c = 0; c < grid.region.columns; ++c) {
      std::uint64_t row = 0, column = 0;
      while (MaxGrid::begin_of(row + 1, grid.height, grid.region.rows) <= r) ++row;
      while (MaxGrid::begin_of(column + 1, grid.width, grid.region.columns) <= c) ++column;
      double& cell = cells[row * grid.width + column];
      const double value = values[(grid.region.row + r) * columns + grid.region.column + c];
      if (!std::isnan(cell) && (std::isnan(value) || std::abs(value) > std::abs(cell))) cell = value;
    }
  return cells;
}

void expect_same(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << i;
}

class MaxGridTest : public testing::Test {
 protected:
  MaxGridTest() {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (float& value : values_) value = normal(random);
    values_[5 * kColumns + 17] = std::numeric_limits<float>::quiet_NaN();
    values_[40 * kColumns + 9000] = -std::numeric_limits<float>::infinity();
    values_[90 * kColumns + 9999] = -1000;
    other_ = values_;
    other_[70 * kColumns + 1234] += 0.5f;
    other_[40 * kColumns + 9000] = 1;
  }
  static constexpr std::int64_t kRows = 97, kColumns = 10007;
  std::vector<float> values_ = std::vector<float>(kRows * kColumns);
  std::vector<float> other_;
  TensorView golden_ = TensorView::row_major(DType::float32, Shape({kRows, kColumns}), values_.data());
};

TEST_F(MaxGridTest, each_cell_has_its_worst_element) {
  const MatrixPair pair{.golden = golden_, .rows = kRows, .columns = kColumns};
  for (const Region& region :
       {Region{0, 0, kRows, kColumns}, Region{3, 8000, 50, 2007}, Region{90, 9990, 7, 17}})
    for (const std::uint64_t most : {1u, 10u, 256u}) {
      const MaxGrid grid = make_max_grid(pair, region, most);
      EXPECT_EQ(grid.height, std::min<std::uint64_t>(most, region.rows));
      expect_same(grid.sides[0], by_hand(values_, grid, kColumns));
      EXPECT_TRUE(grid.sides[1].empty());
    }
}

TEST_F(MaxGridTest, a_coarser_level_loses_nothing) {
  const TensorView actual = TensorView::row_major(DType::float32, golden_.shape, other_.data());
  const MatrixPair pair{.golden = golden_, .actual = &actual, .rows = kRows, .columns = kColumns};
  const MaxGrid fine = make_max_grid(pair, {0, 0, kRows, kColumns}, 64);
  const MaxGrid all = fine.pooled({0, 0, fine.height, fine.width}, 1);
  EXPECT_TRUE(std::isnan(all.sides[0][0]));
  EXPECT_TRUE(std::isnan(all.sides[2][0]));  // infinity against 1
  const Region part{66, 1200, 8, 100};
  const Region cells = fine.cells_of(part);
  const MaxGrid near = fine.pooled(cells, 256);
  EXPECT_LE(near.region.row, part.row);
  EXPECT_LE(near.region.column, part.column);
  EXPECT_GE(near.region.row + near.region.rows, part.row + part.rows);
  EXPECT_GE(near.region.column + near.region.columns, part.column + part.columns);
  std::vector<double> same;
  for (std::uint64_t r = 0; r < cells.rows; ++r)
    for (std::uint64_t c = 0; c < cells.columns; ++c)
      same.push_back(fine.sides[0][(cells.row + r) * fine.width + cells.column + c]);
  expect_same(near.sides[0], same);
  double worst = 0;
  for (const double cell : near.sides[2]) worst = std::max(worst, std::abs(cell));
  EXPECT_NEAR(worst, 0.5, 1e-6);
}

TEST_F(MaxGridTest, strides_and_small_types) {
  const TensorView transposed{.dtype = DType::float32,
                              .shape = Shape({kColumns, kRows}),
                              .strides = Shape({1, kColumns}),
                              .data = golden_.data};
  const MaxGrid grid =
      make_max_grid({.golden = transposed, .rows = kColumns, .columns = kRows}, {9990, 85, 17, 12}, 1);
  EXPECT_EQ(grid.sides[0][0], -1000);
  const std::uint8_t bytes[] = {1, 200, 3};
  const TensorView small = TensorView::row_major(DType::uint8, Shape({3}), bytes);
  EXPECT_EQ(make_max_grid({.golden = small, .rows = 1, .columns = 3}, {0, 0, 1, 3}, 2).sides[0],
            (std::vector<double>{1, 200}));
}

// What is skipped as a hole has no other elements than zeros.
TEST(MaxGridOfSparseFiles, holes_hide_nothing) {
  const auto path = std::filesystem::temp_directory_path() / ("sparse" + std::to_string(::getpid()));
  constexpr std::int64_t kRows = 5000, kColumns = 5003;  // 95 MiB
  ASSERT_TRUE(write_file_atomic(path, "", 0600));
  std::filesystem::resize_file(path, kRows * kColumns * 4);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (const auto& [at, value] :
         {std::pair(17L, -3.0f), std::pair(kRows / 2 * kColumns + 4000, 7.0f),
          std::pair(kRows * kColumns - 1, std::numeric_limits<float>::quiet_NaN())}) {
      file.seekp(at * 4);
      file.write(reinterpret_cast<const char*>(&value), 4);
    }
  }
  const auto mapped = MappedFile::open(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(mapped);
  const TensorView view =
      TensorView::row_major(DType::float32, Shape({kRows, kColumns}), mapped->bytes().data());
  for (const Region& region : {Region{0, 0, kRows, kColumns}, Region{2400, 3990, 200, 1000}}) {
    const MaxGrid grid = make_max_grid({.golden = view, .rows = kRows, .columns = kColumns}, region, 64);
    std::vector<double> expected(grid.height * grid.width, 0);
    for (const auto& [row, column, value] : {std::tuple(0L, 17L, -3.0), std::tuple(kRows / 2, 4000L, 7.0),
                                             std::tuple(kRows - 1, kColumns - 1, double{NAN})}) {
      const auto r = static_cast<std::uint64_t>(row), c = static_cast<std::uint64_t>(column);
      if (r < region.row || r >= region.row + region.rows || c < region.column ||
          c >= region.column + region.columns)
        continue;
      const Region cell = grid.cells_of({r, c, 1, 1});
      expected[cell.row * grid.width + cell.column] = value;
    }
    expect_same(grid.sides[0], expected);
  }
}

}  // namespace
}  // namespace opdump::serve
