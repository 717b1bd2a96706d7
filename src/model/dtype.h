// Element types of tensors: one table of names, sizes and .npy codes for the whole project.
// The names are MindSpore's (mindspore.md 2.2, 3.1), which the dumps and the users share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace opdump::model {

// The numbers are part of the C ABI (opdump_dtype) and never change.
enum class DType : std::uint8_t {
  undefined = 0,
  boolean = 1,
  int8 = 2,
  int16 = 3,
  int32 = 4,
  int64 = 5,
  uint8 = 6,
  uint16 = 7,
  uint32 = 8,
  uint64 = 9,
  float16 = 10,
  bfloat16 = 11,
  float32 = 12,
  float64 = 13,
  complex64 = 14,
  complex128 = 15,
  int4 = 16,         // two to a byte, low nibble first, two's complement
  uint1 = 17,        // eight to a byte, most significant bit first
  float8_e4m3 = 18,  // the smaller floats: math/small_floats.h
  float8_e5m2 = 19,
  // Not in the C ABI: only files of accelerators hold these.
  complex32 = 20,  // two float16
  hifloat8 = 21,
  float8_e8m0 = 22,
  float6_e3m2 = 23,  // these and int2 are packed, the first element in the lowest bits
  float6_e2m3 = 24,
  float4_e2m1 = 25,
  float4_e1m2 = 26,
  int2 = 27,
  uint2 = 28,
};
inline constexpr int kDTypeCount = 29;

enum class DTypeKind : std::uint8_t { none, boolean, signed_integer, unsigned_integer, floating, complex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;        // "float32": statistic.csv, lower-case file names
  std::string_view class_name;  // "Float32": file names of the CPU mode
  std::string_view npy_descr;   // "<f4"; empty where .npy has no such type
  std::uint8_t bits;            // per element; fewer than 8 for the packed types
  DTypeKind kind;
};

// The row of `dtype`. O(1). A number outside the enum gives the row of undefined.
const DTypeInfo& dtype_info(DType dtype);
inline bool is_floating(DType dtype) { return dtype_info(dtype).kind == DTypeKind::floating; }

// The largest finite number of float16, bfloat16, float32 and float64; nothing for other types.
std::optional<double> largest_number(DType dtype);

// The dtype of a name in either spelling ("float32", "Float32"), or nothing.
std::optional<DType> find_dtype(std::string_view name);

}  // namespace opdump::model
