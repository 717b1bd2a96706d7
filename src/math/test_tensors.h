// Tensors of every dtype, memory layout and kind of element, for the property tests of math/.
#pragma once

#include "math/simd_targets.h"
// The list above decides what <hwy/targets.h> knows.
#include <hwy/targets.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/tensor_view.h"

namespace opdump::math {

inline constexpr model::DType kStatDTypes[] = {
    model::DType::boolean,  model::DType::int8,    model::DType::int16,   model::DType::int32,
    model::DType::int64,    model::DType::uint8,   model::DType::uint16,  model::DType::uint32,
    model::DType::uint64,   model::DType::float16, model::DType::float32, model::DType::float64,
    model::DType::bfloat16, model::DType::int4,    model::DType::uint1,   model::DType::int2,
    model::DType::uint2};

enum class ElementKind { ordinary, zeros_and_subnormals, infinities, everything, all_nan };
inline constexpr ElementKind kElementKinds[] = {ElementKind::ordinary, ElementKind::zeros_and_subnormals,
                                                ElementKind::infinities, ElementKind::everything,
                                                ElementKind::all_nan};

// Mantissa bits and all-ones exponent of the float dtypes; zeros for others.
struct FloatFormat {
  unsigned mantissa_bits = 0;
  std::uint64_t infinity = 0;
};
inline FloatFormat float_format(model::DType dtype) {
  switch (dtype) {
    case model::DType::float16:
      return {10, 0x7c00};
    case model::DType::bfloat16:
      return {7, 0x7f80};
    case model::DType::float32:
      return {23, 0x7f800000};
    case model::DType::float64:
      return {52, 0x7ff0000000000000};
    default:
      return {};
  }
}

// The bits of one element. Ordinary floats lie between 1/16 and 16, so that no sum of squares overflows.
inline std::uint64_t random_element(model::DType dtype, ElementKind content, std::mt19937_64& random) {
  const auto [mantissa_bits, infinity] = float_format(dtype);
  if (mantissa_bits == 0) return content == ElementKind::ordinary ? random() : random() % 3;
  const std::uint64_t sign = (infinity + (std::uint64_t{1} << mantissa_bits)) * (random() & 1);
  const std::uint64_t mantissa = random() & ((std::uint64_t{1} << mantissa_bits) - 1);
  const std::uint64_t nan = infinity | mantissa | std::uint64_t{1} << (mantissa_bits - 1);
  const std::uint64_t bias = (infinity >> mantissa_bits) / 2;
  const std::uint64_t ordinary = (bias - 4 + random() % 8) << mantissa_bits | mantissa;
  const std::uint64_t special[] = {0, mantissa, infinity, nan};
  if (content == ElementKind::all_nan) return sign | nan;
  const int kinds[] = {0, 2, 3, 4};
  const int limit = kinds[static_cast<int>(content)];
  if (limit == 0 || random() % 16 != 0) return sign | ordinary;
  return sign | special[random() % static_cast<unsigned>(limit)];
}

// Memory with room on both sides of `element_count` elements, so that any strides can be tried inside it.
inline std::vector<std::byte> random_memory(model::DType dtype, ElementKind content,
                                            std::size_t element_count, std::mt19937_64& random) {
  const std::size_t bits = model::dtype_info(dtype).bits;
  std::vector<std::byte> memory(element_count * (bits + 7) / 8 + 8);
  if (bits < 8) {
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
    return memory;
  }
  const bool is_bool = dtype == model::DType::boolean;
  for (std::size_t i = 0; i < element_count; ++i) {
    const std::uint64_t element = is_bool ? random() & 1 : random_element(dtype, content, random);
    std::memcpy(memory.data() + i * bits / 8, &element, bits / 8);
  }
  return memory;
}

struct StridedShape {
  std::string name;
  model::Shape shape, strides;
  std::int64_t first = 0;  // element at which the view begins
};

// Layouts over at most 40000 elements of memory.
inline std::vector<StridedShape> strided_shapes() {
  std::vector<StridedShape> all;
  for (const std::int64_t n :
       {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 4095, 4096, 4097, 20000})
    all.push_back({"contiguous " + std::to_string(n), {n}, {1}});
  all.push_back({"scalar", {}, {}, 5});
  all.push_back({"unaligned start", {1000}, {1}, 3});
  all.push_back({"empty middle", {3, 0, 2}, {2, 2, 1}});
  all.push_back({"every second", {999}, {2}});
  all.push_back({"sliced rows", {30, 1100}, {1300, 1}, 7});
  all.push_back({"short rows", {200, 5}, {9, 1}});
  all.push_back({"transposed", {101, 67}, {1, 101}});
  all.push_back({"transposed of a slice", {70, 67}, {1, 101}, 4});
  all.push_back({"channels last", {2, 5, 9, 11}, {495, 1, 55, 5}});
  all.push_back({"channels last slice", {2, 5, 9, 11}, {990, 1, 80, 6}});
  all.push_back({"permuted", {7, 5, 3, 11}, {5, 1, 385, 35}});
  all.push_back({"broadcast rows", {40, 33}, {0, 1}});
  all.push_back({"broadcast columns", {40, 33}, {1, 0}});
  all.push_back({"broadcast everywhere", {4, 5}, {0, 0}, 9});
  all.push_back({"reversed", {333}, {-1}, 400});
  all.push_back({"reversed rows", {17, 19}, {-19, 1}, 17 * 19});
  all.push_back({"reversed columns of every third", {17, 19}, {60, -3}, 60});
  all.push_back({"overlapping windows", {50, 16}, {3, 1}});
  all.push_back({"rank 8", {2, 1, 3, 2, 1, 2, 3, 2}, {1, 99, 2, 6, 7, 12, 100, 24}});
  return all;
}

inline model::TensorView view_of(model::DType dtype, const StridedShape& strided,
                                 const std::vector<std::byte>& memory) {
  const std::int64_t bits = model::dtype_info(dtype).bits;
  model::TensorView view{dtype, strided.shape, strided.strides, memory.data()};
  if (bits < 8)
    view.strides = model::row_major_strides(view.shape);
  else
    view.data += strided.first * bits / 8;
  return view;
}

// Calls test() once for each instruction set of this machine that the library has code for.
template <typename Test>
void for_each_instruction_set(Test test) {
  for (std::int64_t rest = simd_targets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    choose_targets(rest & -rest);
    test();
  }
  choose_targets(0);
}

// Every layout with every kind of element, for one dtype: calls visit(name, view).
template <typename Visit>
void for_each_tensor(model::DType dtype, Visit visit) {
  std::mt19937_64 random(static_cast<unsigned>(dtype));
  for (const ElementKind content : kElementKinds)
    for (const StridedShape& strided : strided_shapes()) {
      const std::vector<std::byte> memory = random_memory(dtype, content, 40000, random);
      visit(std::string(model::dtype_info(dtype).name) + ", " + strided.name + ", content " +
                std::to_string(static_cast<int>(content)),
            view_of(dtype, strided, memory));
    }
}

}  // namespace opdump::math
