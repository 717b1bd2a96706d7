#include "model/dtype.h"

#include <array>
#include <limits>

namespace opdump::model {
namespace {

using enum DTypeKind;

constexpr std::array<DTypeInfo, kDTypeCount> kTable{{
    {DType::undefined, "undefined", "Undefined", "", 0, none},
    {DType::boolean, "bool", "Bool", "|b1", 8, boolean},
    {DType::int8, "int8", "Int8", "|i1", 8, signed_integer},
    {DType::int16, "int16", "Int16", "<i2", 16, signed_integer},
    {DType::int32, "int32", "Int32", "<i4", 32, signed_integer},
    {DType::int64, "int64", "Int64", "<i8", 64, signed_integer},
    {DType::uint8, "uint8", "UInt8", "|u1", 8, unsigned_integer},
    {DType::uint16, "uint16", "UInt16", "<u2", 16, unsigned_integer},
    {DType::uint32, "uint32", "UInt32", "<u4", 32, unsigned_integer},
    {DType::uint64, "uint64", "UInt64", "<u8", 64, unsigned_integer},
    {DType::float16, "float16", "Float16", "<f2", 16, floating},
    {DType::bfloat16, "bfloat16", "BFloat16", "", 16, floating},
    {DType::float32, "float32", "Float32", "<f4", 32, floating},
    {DType::float64, "float64", "Float64", "<f8", 64, floating},
    {DType::complex64, "complex64", "Complex64", "<c8", 64, complex},
    {DType::complex128, "complex128", "Complex128", "<c16", 128, complex},
    {DType::int4, "int4", "Int4", "", 4, signed_integer},
    {DType::uint1, "uint1", "UInt1", "", 1, unsigned_integer},
    {DType::float8_e4m3, "float8_e4m3", "Float8E4M3", "", 8, floating},
    {DType::float8_e5m2, "float8_e5m2", "Float8E5M2", "", 8, floating},
    {DType::complex32, "complex32", "Complex32", "", 32, complex},
    {DType::hifloat8, "hifloat8", "HiFloat8", "", 8, floating},
    {DType::float8_e8m0, "float8_e8m0", "Float8E8M0", "", 8, floating},
    {DType::float6_e3m2, "float6_e3m2", "Float6E3M2", "", 6, floating},
    {DType::float6_e2m3, "float6_e2m3", "Float6E2M3", "", 6, floating},
    {DType::float4_e2m1, "float4_e2m1", "Float4E2M1", "", 4, floating},
    {DType::float4_e1m2, "float4_e1m2", "Float4E1M2", "", 4, floating},
    {DType::int2, "int2", "Int2", "", 2, signed_integer},
    {DType::uint2, "uint2", "UInt2", "", 2, unsigned_integer},
}};

}  // namespace

const DTypeInfo& dtype_info(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return kTable[index < kTable.size() ? index : 0];
}

std::optional<double> largest_number(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 0x1.fep127;
    case DType::float32:
      return std::numeric_limits<float>::max();
    case DType::float64:
      return std::numeric_limits<double>::max();
    default:
      return std::nullopt;
  }
}

std::optional<DType> find_dtype(std::string_view name) {
  for (const DTypeInfo& row : kTable)
    if (row.dtype != DType::undefined && (row.name == name || row.class_name == name)) return row.dtype;
  return std::nullopt;
}

}  // namespace opdump::model
