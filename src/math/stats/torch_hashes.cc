#include "math/stats/torch_hashes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "math/convert.h"
#include "math/float_environment.h"
#include "math/lane_reader.h"
#include "math/memory_walk.h"
#include "math/stats/stats.h"

namespace opdump::math {
namespace {

using model::DType;

// Calls take(element, its bytes) for each element as it lies in memory.
template <typename Take>
void for_each_raw(const model::TensorView& view, const Take& take) {
  const std::size_t bytes = model::dtype_info(view.dtype).bits / 8;
  std::vector<std::byte> buffer(kLaneBlock * bytes);
  RowMajorReader reader(view);
  while (reader.remaining() > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kLaneBlock, reader.remaining()));
    const std::byte* const block = reader.next(count, buffer.data());
    for (std::size_t i = 0; i < count; ++i) take(block + i * bytes);
  }
}

// Calls take(element) for each element as `T`, float or double.
template <typename T, typename Take>
void for_each_as(const model::TensorView& view, const Take& take) {
  LaneReader<T> lanes(view);
  for (std::uint64_t rest = view.element_count(); rest > 0;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kLaneBlock, rest));
    const T* const block = lanes.next(count);
    for (std::size_t i = 0; i < count; ++i) take(block[i]);
    rest -= count;
  }
}

bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }

// Calls take(real part, imaginary part) for each element.
template <typename Take>
void for_each_complex(const model::TensorView& view, const Take& take) {
  if (view.dtype == DType::complex64)
    return for_each_raw(view, [&](const std::byte* at) { take(load<float>(at, 0), load<float>(at, 1)); });
  for_each_raw(view, [&](const std::byte* at) { take(load<double>(at, 0), load<double>(at, 1)); });
}

template <typename T>
std::uint64_t xor_of_integers(const model::TensorView& view) {
  std::uint64_t all = 0;
  for_each_raw(view, [&](const std::byte* at) {
    all ^= static_cast<std::uint64_t>(static_cast<std::int64_t>(load<T>(at)));
  });
  return all;
}

}  // namespace

bool has_torch_hashes(DType dtype) { return has_statistics(dtype) || is_complex(dtype); }

double sum_of_magnitudes(const model::TensorView& view) {
  const FloatEnvironment environment;
  double sum = 0;
  if (is_complex(view.dtype))
    for_each_complex(view, [&](double real, double imaginary) { sum += std::hypot(real, imaginary); });
  else if (model::is_floating(view.dtype))
    for_each_as<double>(view, [&](double element) { sum += std::abs(element); });
  else
    for_each_as<float>(view, [&](float element) { sum += std::abs(static_cast<double>(element)); });
  return sum;
}

std::uint64_t xor_of_elements(const model::TensorView& view) {
  const FloatEnvironment environment;
  std::uint64_t all = 0;
  const auto add = [&](double element) { all ^= std::bit_cast<std::uint64_t>(element); };
  switch (view.dtype) {
    case DType::boolean:
    case DType::uint8:
      return xor_of_integers<std::uint8_t>(view);
    case DType::int8:
      return xor_of_integers<std::int8_t>(view);
    case DType::int16:
      return xor_of_integers<std::int16_t>(view);
    case DType::uint16:
      return xor_of_integers<std::uint16_t>(view);
    case DType::int32:
      return xor_of_integers<std::int32_t>(view);
    case DType::uint32:
      return xor_of_integers<std::uint32_t>(view);
    case DType::int64:
    case DType::uint64:
      return xor_of_integers<std::int64_t>(view);
    case DType::complex64:
    case DType::complex128:
      for_each_complex(view, [&](double real, double imaginary) { add(real), add(imaginary); });
      return all;
    default:
      for_each_as<double>(view, add);
      return all;
  }
}

}  // namespace opdump::math
