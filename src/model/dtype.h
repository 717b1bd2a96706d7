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
  float8_e4m3 = 18,  // reserved: known by name and size, no arithmetic yet
  float8_e5m2 = 19,
};
inline constexpr int kDTypeCount = 20;

enum class DTypeKind : std::uint8_t { none, boolean, signed_integer, unsigned_integer, floating, complex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;        // "float32": statistic.csv, lower-case file names
  std::string_view class_name;  // "Float32": file names of the CPU mode
  std::string_view npy_descr;   // "<f4"; empty where .npy has no such type
  std::uint8_t bits;            // per element; 4 and 1 for the packed types
  DTypeKind kind;
};

// The row of `dtype`. O(1). A number outside the enum gives the row of undefined.
const DTypeInfo& dtype_info(DType dtype);

// The dtype of a name in either spelling ("float32", "Float32"), or nothing.
std::optional<DType> find_dtype(std::string_view name);

}  // namespace opdump::model
