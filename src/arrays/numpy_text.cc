#include "arrays/numpy_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "math/convert.h"

namespace opdump::arrays {
namespace {

using model::DType;
using model::DTypeKind;
using model::TensorView;

constexpr std::uint64_t kBufferElements = 8192;  // what NumPy adds up at a time
constexpr std::uint64_t kPairwiseBlock = 128;

// The fewest digits that distinguish a number from its neighbours, as "d.ddde-05".
template <typename T>
std::string scientific(T value) {
  std::array<char, 64> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  return {buffer.data(), end};
}

std::string scientific_half(float value) {
  const float step = std::ldexp(1.0f, std::max(std::ilogb(value), -14) - 10);
  std::array<char, 64> buffer;
  for (int digits = 0; digits < 8; ++digits) {
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::scientific, digits)
                         .ptr;
    float again = 0;
    std::from_chars(buffer.data(), end, again);
    if (std::abs(again - value) < step / 2) return {buffer.data(), end};
  }
  return scientific(value);
}

// Digits with their exponent as Python writes them: positional from 1e-4 up to 1e16.
std::string python_float(const std::string& digits) {
  const std::size_t e = digits.find('e');
  int exponent = 0;
  const char* const first = digits.data() + e + (digits[e + 1] == '+' ? 2 : 1);
  std::from_chars(first, digits.data() + digits.size(), exponent);
  const bool is_negative = digits[0] == '-';
  std::string mantissa = digits.substr(is_negative, e - is_negative);
  const std::string sign = is_negative ? "-" : "";
  if (exponent < -4 || exponent >= 16) return digits;
  std::erase(mantissa, '.');
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + mantissa;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (mantissa.size() <= whole) return sign + mantissa + std::string(whole - mantissa.size(), '0') + ".0";
  return sign + mantissa.substr(0, whole) + "." + mantissa.substr(whole);
}

template <typename T>
std::string float_text(T value, bool is_half = false) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  return python_float(is_half ? scientific_half(static_cast<float>(value)) : scientific(value));
}

// Parts of complex numbers lose a trailing ".0".
template <typename T>
std::string complex_text(T real, T imaginary) {
  const auto part = [](T value) {
    std::string text = float_text(value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  const std::string sign = std::signbit(imaginary) && !std::isnan(imaginary) ? "" : "+";
  if (real == 0 && !std::signbit(real)) return part(imaginary) + "j";
  return "(" + part(real) + sign + part(imaginary) + "j)";
}

// NumPy's sum of elements that lie together.
template <typename T>
T pairwise_sum(const T* values, std::uint64_t count) {
  if (count < 8) {
    T sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) sum += values[i];
    return sum;
  }
  if (count <= kPairwiseBlock) {
    std::array<T, 8> r;
    std::copy_n(values, 8, r.begin());
    std::uint64_t i = 8;
    for (; i < count - count % 8; i += 8)
      for (std::size_t j = 0; j < 8; ++j) r[j] += values[i + j];
    T sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < count; ++i) sum += values[i];
    return sum;
  }
  const std::uint64_t half = count / 2 - count / 2 % 8;
  return pairwise_sum(values, half) + pairwise_sum(values + half, count - half);
}

// The sum of all elements, a buffer at a time.
template <typename T>
T buffered_sum(const TensorView& view) {
  const std::uint64_t count = view.element_count(), size = model::dtype_info(view.dtype).bits / 8;
  std::vector<T> buffer(std::min(count, kBufferElements));
  T sum = 0;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t some = std::min(kBufferElements, count - done);
    math::convert_elements(view.dtype, view.data + done * size, buffer.data(), some);
    sum += pairwise_sum(buffer.data(), some);
    done += some;
  }
  return sum;
}

// Adds as pairwise_sum does: `count` real numbers, the parts of complex ones in turn.
template <typename T>
std::complex<T> complex_sum(const T* parts, std::uint64_t count) {
  T real = 0, imaginary = 0;
  std::uint64_t i = 0;
  if (count > kPairwiseBlock) {
    const std::uint64_t half = count / 2 - count / 2 % 8;
    return complex_sum(parts, half) + complex_sum(parts + half, count - half);
  }
  if (count >= 8) {
    std::array<T, 8> r;
    std::copy_n(parts, 8, r.begin());
    for (i = 8; i < count - count % 8; i += 8)
      for (std::size_t j = 0; j < 8; ++j) r[j] += parts[i + j];
    real = (r[0] + r[2]) + (r[4] + r[6]);
    imaginary = (r[1] + r[3]) + (r[5] + r[7]);
  }
  for (; i < count; i += 2) {
    real += parts[i];
    imaginary += parts[i + 1];
  }
  return {real, imaginary};
}

template <typename T>
std::string complex_mean(const TensorView& view) {
  std::vector<T> parts(std::min(view.element_count(), kBufferElements) * 2);
  std::complex<T> sum = 0;
  for (std::uint64_t done = 0; done < view.element_count();) {
    const std::uint64_t some = std::min(kBufferElements, view.element_count() - done);
    std::memcpy(parts.data(), view.data + done * 2 * sizeof(T), some * 2 * sizeof(T));
    sum += complex_sum(parts.data(), some * 2);
    done += some;
  }
  // NumPy divides by the number with an imaginary part of 0, which shows if a part is no number.
  const double real = sum.real(), imaginary = sum.imag(),
               factor = 1.0 / static_cast<double>(view.element_count());
  return complex_text(static_cast<T>((real + imaginary * 0.0) * factor),
                      static_cast<T>((imaginary - real * 0.0) * factor));
}

// `value` as the nearest half.
float nearest_half(double value) {
  if (!std::isfinite(value) || value == 0) return static_cast<float>(value);
  const int exponent = std::max(std::ilogb(value), -14);
  const double step = std::ldexp(1.0, exponent - 10), rounded = std::nearbyint(value / step) * step;
  return std::abs(rounded) > 65504
             ? std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value))
             : static_cast<float>(rounded);
}

std::string mean_text(const TensorView& view) {
  const auto count = static_cast<double>(view.element_count());
  switch (view.dtype) {
    case DType::float16:
      return float_text(nearest_half(buffered_sum<float>(view) / count), true);
    case DType::float32:
      return float_text(static_cast<float>(buffered_sum<float>(view) / count));
    case DType::float64:
      return float_text(buffered_sum<double>(view) / count);
    case DType::complex64:
      return complex_mean<float>(view);
    case DType::complex128:
      return complex_mean<double>(view);
    default:
      return float_text(buffered_sum<double>(view) / count);
  }
}

// `count` elements from `first` on; of complex ones the real parts.
template <typename T>
void take_elements(const TensorView& view, std::uint64_t first, std::uint64_t count, T* out) {
  const std::size_t step = model::dtype_info(view.dtype).bits / 8;
  const std::byte* const at = view.data + first * step;
  if (step == sizeof(T)) {
    std::memcpy(out, at, count * step);
  } else if (view.dtype == DType::float16) {
    if constexpr (std::is_same_v<T, float>) math::convert_elements(view.dtype, at, out, count);
  } else {
    for (std::uint64_t i = 0; i < count; ++i) out[i] = math::load<T>(at + i * step);
  }
}

// Where the first element is that all others are not `beyond`; a NaN is beyond everything.
template <typename T, typename Beyond>
std::uint64_t extreme(const TensorView& view, const Beyond& beyond) {
  const std::uint64_t count = view.element_count();
  std::vector<T> buffer(std::min(count, kBufferElements));
  std::uint64_t best = 0;
  take_elements(view, 0, 1, buffer.data());
  T value = buffer[0];
  for (std::uint64_t first = 0; first < count && value == value; first += kBufferElements) {
    const std::uint64_t some = std::min(kBufferElements, count - first);
    take_elements(view, first, some, buffer.data());
    bool is_any = false;  // mostly not, which takes less time to find out than where it is
    for (std::uint64_t i = 0; i < some; ++i) {
      is_any |= beyond(buffer[i], value);
      is_any |= buffer[i] != buffer[i];
    }
    for (std::uint64_t i = 0; is_any && i < some && value == value; ++i)
      if (beyond(buffer[i], value) || buffer[i] != buffer[i]) {
        value = buffer[i];
        best = first + i;
      }
  }
  return best;
}

template <typename T>
std::uint64_t extreme(const TensorView& view, bool is_max) {
  return is_max ? extreme<T>(view, std::greater<T>()) : extreme<T>(view, std::less<T>());
}

std::uint64_t extreme_index(const TensorView& view, bool is_max) {
  switch (view.dtype) {
    case DType::boolean:
    case DType::uint8:
      return extreme<std::uint8_t>(view, is_max);
    case DType::int8:
      return extreme<std::int8_t>(view, is_max);
    case DType::int16:
      return extreme<std::int16_t>(view, is_max);
    case DType::uint16:
      return extreme<std::uint16_t>(view, is_max);
    case DType::int32:
      return extreme<std::int32_t>(view, is_max);
    case DType::uint32:
      return extreme<std::uint32_t>(view, is_max);
    case DType::int64:
      return extreme<std::int64_t>(view, is_max);
    case DType::uint64:
      return extreme<std::uint64_t>(view, is_max);
    case DType::float16:
    case DType::float32:
    case DType::complex64:
      return extreme<float>(view, is_max);
    default:
      return extreme<double>(view, is_max);
  }
}

// "()", "(4,)", "(2, 3)"
std::string python_tuple(const model::Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.rank(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace

std::string numpy_text(DType dtype, const std::byte* at) {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  switch (dtype) {
    case DType::boolean:
      return math::load<std::uint8_t>(at) != 0 ? "True" : "False";
    case DType::float16:
      return float_text(math::float_from_half(math::load<std::uint16_t>(at)), true);
    case DType::float32:
      return float_text(math::load<float>(at));
    case DType::float64:
      return float_text(math::load<double>(at));
    case DType::complex64:
      return complex_text(math::load<float>(at), math::load<float>(at + 4));
    case DType::complex128:
      return complex_text(math::load<double>(at), math::load<double>(at + 8));
    case DType::uint64:
      return std::to_string(math::load<std::uint64_t>(at));
    default:
      break;
  }
  if (info.kind != DTypeKind::signed_integer && info.kind != DTypeKind::unsigned_integer) return "?";
  std::int64_t value = 0;
  std::memcpy(&value, at, info.bits / 8);
  const int unused = 64 - info.bits;
  if (info.kind == DTypeKind::signed_integer)
    value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
  return std::to_string(value);
}

std::string numpy_summary(const TensorView& view) {
  const std::size_t size = model::dtype_info(view.dtype).bits / 8;
  const auto element = [&](std::uint64_t i) { return numpy_text(view.dtype, view.data + i * size); };
  return "[Shape: " + python_tuple(view.shape) +
         "] [Dtype: " + std::string(model::dtype_info(view.dtype).name) +
         "] [Max: " + element(extreme_index(view, true)) + "] [Min: " + element(extreme_index(view, false)) +
         "] [Mean: " + mean_text(view) + "]";
}

}  // namespace opdump::arrays
