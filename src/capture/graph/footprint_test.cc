#include "capture/graph/footprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace opdump::capture {
namespace {

using model::DType;
using model::Shape;

Footprint print(Shape shape, Shape strides, std::int64_t offset = 0, DType dtype = DType::float32,
                std::uint64_t block = 1) {
  return make_footprint(block, offset, {dtype, std::move(shape), std::move(strides), nullptr});
}

TEST(Footprint, ChunksOfABuffer) {
  EXPECT_FALSE(overlap(print({4}, {1}, 0), print({4}, {1}, 16)));
  EXPECT_TRUE(overlap(print({4}, {1}, 0), print({4}, {1}, 12)));
  EXPECT_TRUE(overlap(print({16}, {1}, 0), print({4}, {1}, 16)));
  EXPECT_FALSE(overlap(print({4}, {1}), print({4}, {1}, 0, DType::float32, 2))) << "of another block";
}

TEST(Footprint, ColumnsOfAMatrix) {
  const Shape chunk{3, 5}, strides{20, 1};  // the gates of an LSTM: four chunks of (3,20)
  for (std::int64_t a = 0; a < 4; ++a)
    for (std::int64_t b = 0; b < 4; ++b)
      EXPECT_EQ(overlap(print(chunk, strides, a * 20), print(chunk, strides, b * 20)), a == b) << a << b;
  EXPECT_TRUE(overlap(print(chunk, strides, 0), print({60}, {1})));
  EXPECT_FALSE(overlap(print({2, 3, 5}, {60, 20, 1}, 0), print(chunk, strides, 20))) << "of other ranks";
}

TEST(Footprint, EverySecondElement) {
  EXPECT_FALSE(overlap(print({8}, {2}, 0), print({8}, {2}, 4)));
  EXPECT_TRUE(overlap(print({8}, {2}, 0), print({8}, {2}, 8)));
}

TEST(Footprint, NothingAndOneElementSeenOften) {
  EXPECT_FALSE(overlap(print({0}, {1}), print({4}, {1})));
  EXPECT_TRUE(overlap(print({1000}, {0}, 4), print({4}, {1})));
  EXPECT_FALSE(overlap(print({1000}, {0}, 16), print({4}, {1})));
  EXPECT_TRUE(overlap(print({4}, {-1}, 12), print({1}, {1}))) << "backwards, from its last element";
  EXPECT_FALSE(overlap(print({4}, {-1}, 12), print({1}, {1}, 16)));
}

TEST(Footprint, AViewIsPlaceShapeStridesAndType) {
  const Footprint view = print({2, 3}, {3, 1}, 8);
  EXPECT_EQ(view.view, print({2, 3}, {3, 1}, 8).view);
  EXPECT_NE(view.view, print({3, 2}, {1, 3}, 8).view);
  EXPECT_NE(view.view, print({2, 3}, {3, 1}, 4).view);
  EXPECT_NE(view.view, print({2, 3}, {3, 1}, 8, DType::int32).view);
}

std::set<std::int64_t> bytes_of(const Shape& shape, const Shape& strides, std::int64_t offset) {
  std::set<std::int64_t> places{offset};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    std::set<std::int64_t> more;
    for (const std::int64_t place : places)
      for (std::int64_t i = 0; i < shape[axis]; ++i) more.insert(place + i * strides[axis]);
    places = std::move(more);
  }
  return places;
}

TEST(Footprint, ContainsEveryByte) {
  EXPECT_TRUE(contains(print({16}, {1}), print({4}, {1}, 16)));
  EXPECT_FALSE(contains(print({4}, {1}), print({16}, {1})));
  EXPECT_FALSE(contains(print({16}, {1}), print({4}, {1}, 16, DType::float32, 2))) << "of another block";
  EXPECT_TRUE(contains(print({4}, {1}, 16), print({0}, {1}))) << "nothing is in everything";
  const Footprint column = print({3, 5}, {20, 1}, 20);
  EXPECT_TRUE(contains(column, column));
  EXPECT_TRUE(contains(column, print({2, 5}, {20, 1}, 100))) << "its last two rows";
  EXPECT_TRUE(contains(column, print({3, 2}, {20, 1}, 24)));
  EXPECT_FALSE(contains(column, print({3, 6}, {20, 1}, 20)));
  EXPECT_FALSE(contains(column, print({3, 5}, {20, 1}, 100))) << "its last row is no row of the column";
}

// Slices of a common tensor: what overlap() and contains() say must be exact for most of these, and never
// wrong on the side that counts.
TEST(Footprint, SlicesAgainstTheirBytes) {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  int disjoint = 0, inside = 0;
  for (int round = 0; round < 3000; ++round) {
    const Shape whole{2 + below(3), 2 + below(5), 2 + below(5)};
    const Shape strides{whole[1] * whole[2], whole[2], 1};
    Footprint prints[2];
    std::set<std::int64_t> bytes[2];
    for (int side = 0; side < 2; ++side) {
      Shape shape{1, 1, 1};
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t start = below(whole[axis]);
        shape.dims()[axis] = 1 + below(whole[axis] - start);
        offset += start * strides[axis];
      }
      prints[side] = print(shape, strides, offset, DType::uint8);
      bytes[side] = bytes_of(shape, strides, offset);
    }
    const bool is_inside = std::ranges::includes(bytes[0], bytes[1]);
    if (!is_inside) {
      EXPECT_FALSE(contains(prints[0], prints[1]));
    }
    inside += is_inside && contains(prints[0], prints[1]);
    inside -= is_inside && !contains(prints[0], prints[1]);
    bool meet = false;
    for (const std::int64_t byte : bytes[0]) meet = meet || bytes[1].contains(byte);
    if (meet) {
      EXPECT_TRUE(overlap(prints[0], prints[1]));
    }
    disjoint += !meet && !overlap(prints[0], prints[1]);
    disjoint -= !meet && overlap(prints[0], prints[1]);
  }
  EXPECT_GT(disjoint, 500);
  EXPECT_GT(inside, 150);
}

}  // namespace
}  // namespace opdump::capture
