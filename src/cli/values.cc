#include "cli/values.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text/text.h"
#include "math/convert.h"
#include "model/position.h"

namespace opdump::cli {
namespace {

using model::DType;

// The shortest text that reads back as the same T.
template <typename T>
std::string shortest(T value) {
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : format_g(value);
  std::array<char, 40> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  (void)error;  // no integer or double needs more
  return {buffer.data(), end};
}

// The shortest text that is nearer to `value` than to its neighbours with `mantissa_bits` after the leading
// one.
std::string shortest_narrow(float value, int mantissa_bits) {
  if (!std::isfinite(value) || value == 0) return shortest(value);
  const float half_step = std::ldexp(0.5f, std::ilogb(value) - mantissa_bits);
  std::array<char, 40> buffer;
  for (int digits = 1; digits < 6; ++digits) {
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                            std::chars_format::general, digits);
    (void)error;
    float read_back = 0;
    std::from_chars(buffer.data(), end, read_back);
    if (std::abs(read_back - value) < half_step) return {buffer.data(), end};
  }
  return shortest(value);
}

template <typename T>
std::string complex_text(const std::byte* at) {
  const T real = math::load<T>(at), imaginary = math::load<T>(at + sizeof(T));
  const std::string sign = std::signbit(imaginary) && !std::isnan(imaginary) ? "" : "+";
  return "(" + shortest(real) + sign + shortest(imaginary) + "j)";
}

}  // namespace

std::string format_element(const model::TensorView& view, std::uint64_t index) {
  const std::byte* at =
      view.data + model::element_offset(view, index) * (model::dtype_info(view.dtype).bits / 8);
  switch (view.dtype) {
    case DType::boolean:
      return math::load<std::uint8_t>(at) != 0 ? "True" : "False";
    case DType::int8:
      return shortest<int>(math::load<std::int8_t>(at));
    case DType::int16:
      return shortest(math::load<std::int16_t>(at));
    case DType::int32:
      return shortest(math::load<std::int32_t>(at));
    case DType::int64:
      return shortest(math::load<std::int64_t>(at));
    case DType::uint8:
      return shortest<int>(math::load<std::uint8_t>(at));
    case DType::uint16:
      return shortest(math::load<std::uint16_t>(at));
    case DType::uint32:
      return shortest(math::load<std::uint32_t>(at));
    case DType::uint64:
      return shortest(math::load<std::uint64_t>(at));
    case DType::float16:
      return shortest_narrow(math::float_from_half(math::load<std::uint16_t>(at)), 10);
    case DType::bfloat16:
      return shortest_narrow(math::float_from_bfloat16(math::load<std::uint16_t>(at)), 7);
    case DType::float32:
      return shortest(math::load<float>(at));
    case DType::float64:
      return shortest(math::load<double>(at));
    case DType::complex64:
      return complex_text<float>(at);
    case DType::complex128:
      return complex_text<double>(at);
    default:
      return "?";
  }
}

std::string format_values(const model::TensorView& view, std::size_t edge) {
  const std::uint64_t count = view.element_count();
  std::string text = "[";
  const auto add = [&](std::string_view word) {
    if (text.size() > 1) text += ' ';
    text += word;
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i >= edge && count - i > edge) {  // the gap in the middle
      add("...");
      i = count - edge - 1;
      continue;
    }
    add(format_element(view, i));
  }
  return text + "]";
}

}  // namespace opdump::cli
