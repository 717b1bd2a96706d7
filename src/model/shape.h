// The sizes (or the strides) of a tensor's dimensions. The object holds up to kInline of them without
// allocation, because shapes are copied for every recorded operator.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace opdump::model {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims) : rank_(dims.size()) {
    if (rank_ <= kInline)
      std::ranges::copy(dims, inline_.begin());
    else
      heap_.assign(dims.begin(), dims.end());
  }

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t axis) const { return dims()[axis]; }
  std::span<const std::int64_t> dims() const {
    return {rank_ <= kInline ? inline_.data() : heap_.data(), rank_};
  }
  std::span<std::int64_t> dims() { return {rank_ <= kInline ? inline_.data() : heap_.data(), rank_}; }
  bool operator==(const Shape& other) const { return std::ranges::equal(dims(), other.dims()); }

 private:
  static constexpr std::size_t kInline = 6;
  std::size_t rank_ = 0;
  std::array<std::int64_t, kInline> inline_{};
  std::vector<std::int64_t> heap_;
};

// Product of the dimensions: 1 for a scalar, 0 if one is 0; nothing if a dimension is negative or the product
// exceeds 2^62. Shapes come from files and other programs, so use this function to multiply them.
std::optional<std::uint64_t> element_count(const Shape& shape);

// "(2,3)", "(3)", "()": the spelling of statistic.csv.
std::string format_shape(const Shape& shape);

// Strides, in elements, of a row-major `shape`.
Shape row_major_strides(const Shape& shape);

}  // namespace opdump::model
