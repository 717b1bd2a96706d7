#include "compare/measure/relation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

#include "base/text/text.h"

namespace opdump::compare {
namespace {

using Numbers = std::span<const double>;

constexpr std::size_t kFewNumbers = 4;  // different ones
constexpr double kRoundoffs = 64;       // that a relation may be off by, of the whole tensor

double tolerance_of(model::DType dtype) {
  switch (dtype) {
    case model::DType::bfloat16:
      return kRoundoffs * 0x1p-8 / 8;
    case model::DType::float16:
      return kRoundoffs * 0x1p-11 / 8;
    case model::DType::float64:
      return kRoundoffs * 0x1p-53;
    default:
      return kRoundoffs * 0x1p-24;
  }
}

double norm_of(Numbers numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x * x;
  return std::sqrt(sum);
}

bool has_few_numbers(Numbers numbers) {
  std::set<double> different;
  for (const double x : numbers)
    if (different.insert(x); different.size() >= kFewNumbers) return false;
  return true;
}

// How far actual is from factor * golden + offset, relative to actual.
double residual(Numbers golden, Numbers actual, double factor, double offset) {
  double sum = 0;
  for (std::size_t i = 0; i < golden.size(); ++i) {
    const double error = actual[i] - (factor * golden[i] + offset);
    sum += error * error;
  }
  const double norm = norm_of(actual);
  return norm > 0 ? std::sqrt(sum) / norm : INFINITY;
}

std::string describe_factor(Numbers golden, Numbers actual, double tolerance) {
  double product = 0, square = 0;
  for (std::size_t i = 0; i < golden.size(); ++i) {
    product += golden[i] * actual[i];
    square += golden[i] * golden[i];
  }
  const double factor = square > 0 ? product / square : 0;
  if (factor == 0 || std::abs(factor - 1) <= 16 * tolerance ||
      residual(golden, actual, factor, 0) > tolerance)
    return {};
  if (std::abs(factor + 1) <= tolerance) return "actual has the other sign in all elements";
  const double rounded = std::round(factor * 1e4) / 1e4;
  return "actual is " +
         format_g(std::abs(rounded - factor) <= tolerance * std::abs(factor) ? rounded : factor) +
         " × golden in all elements";
}

std::string describe_offset(Numbers golden, Numbers actual, double tolerance) {
  double offset = 0;
  for (std::size_t i = 0; i < golden.size(); ++i) offset += actual[i] - golden[i];
  offset /= static_cast<double>(golden.size());
  const double scale = norm_of(actual) / std::sqrt(static_cast<double>(actual.size()));
  if (std::abs(offset) <= 16 * tolerance * scale || residual(golden, actual, 1, offset) > tolerance)
    return {};
  return "actual is golden " + std::string(offset > 0 ? "+ " : "- ") + format_g(std::abs(offset)) +
         " in all elements";
}

// Returns the strides of a row-major tensor.
std::vector<std::size_t> strides_of(const std::vector<std::int64_t>& dims) {
  std::vector<std::size_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::size_t>(dims[i]);
  return strides;
}

// Whether actual has golden's elements where two axes of one length are exchanged.
bool is_transposed(Numbers golden, Numbers actual, const std::vector<std::int64_t>& dims, std::size_t a,
                   std::size_t b) {
  const std::vector<std::size_t> strides = strides_of(dims);
  for (std::size_t i = 0; i < golden.size(); ++i) {
    const std::size_t at_a = i / strides[a] % static_cast<std::size_t>(dims[a]);
    const std::size_t at_b = i / strides[b] % static_cast<std::size_t>(dims[b]);
    const std::size_t other =
        i - at_a * strides[a] - at_b * strides[b] + at_b * strides[a] + at_a * strides[b];
    if (actual[i] != golden[other]) return false;
  }
  return true;
}

std::string describe_order(Numbers golden, Numbers actual, const std::vector<std::int64_t>& dims) {
  std::vector<double> sorted_golden(golden.begin(), golden.end()),
      sorted_actual(actual.begin(), actual.end());
  std::ranges::sort(sorted_golden);
  std::ranges::sort(sorted_actual);
  if (sorted_golden != sorted_actual) return {};
  for (std::size_t a = 0; a < dims.size(); ++a)
    for (std::size_t b = a + 1; b < dims.size(); ++b)
      if (dims[a] == dims[b] && dims[a] > 1 && is_transposed(golden, actual, dims, a, b))
        return "actual is golden with axes " + std::to_string(a) + " and " + std::to_string(b) + " exchanged";
  return "actual has golden's elements in another order";
}

// Says whether actual is golden moved by so many places along an axis; what comes in at the end is another
// matter.
bool is_shifted(Numbers golden, Numbers actual, const std::vector<std::int64_t>& dims, std::size_t axis,
                std::int64_t places) {
  const std::size_t stride = strides_of(dims)[axis];
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i / stride % static_cast<std::size_t>(dims[axis]));
    if (at - places < 0 || at - places >= dims[axis]) continue;
    const auto from = static_cast<std::int64_t>(i) - places * static_cast<std::int64_t>(stride);
    if (actual[i] != golden[static_cast<std::size_t>(from)]) return false;
  }
  return true;
}

std::string describe_shift(Numbers golden, Numbers actual, const std::vector<std::int64_t>& dims) {
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    for (const std::int64_t places : {1, -1})
      if (dims[axis] > 2 && is_shifted(golden, actual, dims, axis, places))
        return "actual is golden shifted by " + std::to_string(places) + " along axis " +
               std::to_string(axis);
  return {};
}

std::string describe_clipping(Numbers golden, Numbers actual) {
  const auto [low, high] = std::ranges::minmax(actual);
  std::size_t clipped = 0;
  for (std::size_t i = 0; i < golden.size(); ++i) {
    if (golden[i] == actual[i]) continue;
    if (actual[i] != std::clamp(golden[i], low, high)) return {};
    ++clipped;
  }
  return clipped == golden.size() ? std::string()
                                  : "actual is golden clipped to " + format_g(low) + " ... " + format_g(high);
}

// Whether a number has so many binary digits.
bool has_digits(double number, int digits) {
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(number, &exponent), digits);
  return mantissa == std::trunc(mantissa);
}

bool is_rounded(Numbers golden, Numbers actual, int digits) {
  return std::ranges::equal(golden, actual, [&](double g, double a) {
    return std::abs(a - g) <= std::ldexp(std::abs(g), -digits) && has_digits(a, digits);
  });
}

std::string describe_rounding(Numbers golden, Numbers actual) {
  if (is_rounded(golden, actual, 11)) return "actual is golden rounded to float16";
  return is_rounded(golden, actual, 8) ? "actual is golden rounded to bfloat16" : "";
}

}  // namespace

std::string describe_relation(Numbers golden, Numbers actual, const std::vector<std::int64_t>& dims,
                              model::DType dtype) {
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (golden.size() != actual.size() || !std::ranges::all_of(golden, is_finite) ||
      !std::ranges::all_of(actual, is_finite) || has_few_numbers(golden))
    return {};
  const double tolerance = tolerance_of(dtype);
  for (std::string text : {describe_order(golden, actual, dims), describe_factor(golden, actual, tolerance),
                           describe_offset(golden, actual, tolerance), describe_shift(golden, actual, dims),
                           describe_clipping(golden, actual), describe_rounding(golden, actual)})
    if (!text.empty()) return text;
  return {};
}

}  // namespace opdump::compare
