// The errors of a tensor's elements one by one, with the roundings of NumPy's types, and the largest of them
// (cann.md 4.8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "msaccucmp/read/dumped_tensor.h"

namespace opdump::msaccucmp {

// One element of both sides, and its errors.
struct ElementError {
  double mine = 0, golden = 0;
  double absolute = 0, relative = 0;  // NaN also for an infinite error
};

// What NumPy has errors in: it looks for the largest of float32 and float64 in another way than for that of
// integers and float16.
enum class ErrorType : std::uint8_t { narrow, wide };

class ElementErrors {
 public:
  // Two rows of as many elements, which outlive this.
  ElementErrors(const TensorData& mine, const TensorData& golden);

  std::uint64_t count() const { return count_; }
  bool are_bool() const { return are_bool_; }  // then there are no errors: both are NaN
  ErrorType absolute_type() const { return absolute_type_; }
  ErrorType relative_type() const { return relative_type_; }
  // Elements `first` and following, as many as `out` has room for.
  void read(std::uint64_t first, std::span<ElementError> out) const;

 private:
  enum class Rounding : std::uint8_t { half, single, both_double };
  const TensorData& mine_;
  const TensorData& golden_;
  std::uint64_t count_ = 0;
  bool are_bool_ = false;
  Rounding precision_ = Rounding::both_double;
  ErrorType absolute_type_ = ErrorType::wide, relative_type_ = ErrorType::wide;
};

// The positions of the `count` largest values; of equal ones those that numpy.argpartition leaves at the end.
// In no order.
std::vector<std::size_t> largest_positions(std::span<const double> values, std::size_t count, ErrorType type);

struct ErrorSummary {
  double least_absolute = 0, most_absolute = 0, least_relative = 0, most_relative = 0;
  std::vector<std::size_t> top_absolute, top_relative;  // positions, the largest error first
};

// `top_count` errors of each kind; of a tensor with fewer elements one less than it has, as the original
// does.
ErrorSummary summarise(const ElementErrors& errors, std::size_t top_count);

}  // namespace opdump::msaccucmp
