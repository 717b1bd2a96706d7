#include "format/tensors/dump_names.h"

#include <algorithm>
#include <iterator>

#include "model/format.h"

namespace opdump::format {
namespace {

using model::DType;

struct DTypeName {
  std::string_view name;
  DType dtype = DType::undefined;
};

// The place is the number of the type, which every version that knows it agrees on.
constexpr DTypeName kDTypes[] = {{"UNDEFINED"},
                                 {"FLOAT", DType::float32},
                                 {"FLOAT16", DType::float16},
                                 {"INT8", DType::int8},
                                 {"UINT8", DType::uint8},
                                 {"INT16", DType::int16},
                                 {"UINT16", DType::uint16},
                                 {"INT32", DType::int32},
                                 {"INT64", DType::int64},
                                 {"UINT32", DType::uint32},
                                 {"UINT64", DType::uint64},
                                 {"BOOL", DType::boolean},
                                 {"DOUBLE", DType::float64},
                                 {"STRING"},
                                 {"DUAL_SUB_INT8"},
                                 {"DUAL_SUB_UINT8"},
                                 {"COMPLEX64", DType::complex64},
                                 {"COMPLEX128", DType::complex128},
                                 {"QINT8"},
                                 {"QINT16"},
                                 {"QINT32"},
                                 {"QUINT8"},
                                 {"QUINT16"},
                                 {"RESOURCE"},
                                 {"STRING_REF"},
                                 {"DUAL"},
                                 {"VARIANT"},
                                 {"BF16", DType::bfloat16},
                                 {"INT4", DType::int4},
                                 {"UINT1", DType::uint1},
                                 {"INT2", DType::int2},
                                 {"UINT2", DType::uint2},
                                 {"COMPLEX32", DType::complex32},
                                 {"HIFLOAT8", DType::hifloat8},
                                 {"FLOAT8_E5M2", DType::float8_e5m2},
                                 {"FLOAT8_E4M3FN", DType::float8_e4m3},
                                 {"FLOAT8_E8M0", DType::float8_e8m0},
                                 {"FLOAT6_E3M2", DType::float6_e3m2},
                                 {"FLOAT6_E2M3", DType::float6_e2m3},
                                 {"FLOAT4_E2M1", DType::float4_e2m1},
                                 {"FLOAT4_E1M2", DType::float4_e1m2},
                                 {"HIFLOAT4"},
                                 {"HIFLOAT4_SCALE"}};

}  // namespace

std::string_view dump_dtype_name(std::int32_t number) {
  const auto index = static_cast<std::size_t>(number);
  return number >= 0 && index < std::size(kDTypes) ? kDTypes[index].name : std::string_view();
}

model::DType dump_dtype(std::int32_t number) {
  const auto index = static_cast<std::size_t>(number);
  return number >= 0 && index < std::size(kDTypes) ? kDTypes[index].dtype : DType::undefined;
}

std::int32_t dump_dtype_number(model::DType dtype) {
  return static_cast<std::int32_t>(std::ranges::find(kDTypes, dtype, &DTypeName::dtype) - kDTypes);
}

std::string_view dump_format_name(std::int32_t number) {
  return number >= 0 && number < 255 ? model::format_name(static_cast<model::Format>(number))
                                     : std::string_view();
}

std::optional<std::int32_t> find_dump_format(std::string_view name) {
  const auto format = model::find_format(name);
  if (!format) return std::nullopt;
  return static_cast<std::int32_t>(*format);
}

}  // namespace opdump::format
