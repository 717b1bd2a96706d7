#include "format/dump_names.h"

#include <algorithm>
#include <iterator>

namespace opdump::format {
namespace {

using model::DType;

struct DTypeName {
  std::string_view name;
  DType dtype = DType::undefined;
};

// By number; the same in every version that knows the number.
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
                                 {"INT2"},
                                 {"UINT2"},
                                 {"COMPLEX32"},
                                 {"HIFLOAT8"},
                                 {"FLOAT8_E5M2", DType::float8_e5m2},
                                 {"FLOAT8_E4M3FN", DType::float8_e4m3},
                                 {"FLOAT8_E8M0"},
                                 {"FLOAT6_E3M2"},
                                 {"FLOAT6_E2M3"},
                                 {"FLOAT4_E2M1"},
                                 {"FLOAT4_E1M2"},
                                 {"HIFLOAT4"},
                                 {"HIFLOAT4_SCALE"}};

constexpr std::string_view kFormats[] = {"NCHW",
                                         "NHWC",
                                         "ND",
                                         "NC1HWC0",
                                         "FRACTAL_Z",
                                         "NC1C0HWPAD",
                                         "NHWC1C0",
                                         "FSR_NCHW",
                                         "FRACTAL_DECONV",
                                         "C1HWNC0",
                                         "FRACTAL_DECONV_TRANSPOSE",
                                         "FRACTAL_DECONV_SP_STRIDE_TRANS",
                                         "NC1HWC0_C04",
                                         "FRACTAL_Z_C04",
                                         "CHWN",
                                         "FRACTAL_DECONV_SP_STRIDE8_TRANS",
                                         "HWCN",
                                         "NC1KHKWHWC0",
                                         "BN_WEIGHT",
                                         "FILTER_HWCK",
                                         "HASHTABLE_LOOKUP_LOOKUPS",
                                         "HASHTABLE_LOOKUP_KEYS",
                                         "HASHTABLE_LOOKUP_VALUE",
                                         "HASHTABLE_LOOKUP_OUTPUT",
                                         "HASHTABLE_LOOKUP_HITS",
                                         "C1HWNCoC0",
                                         "MD",
                                         "NDHWC",
                                         "FRACTAL_ZZ",
                                         "FRACTAL_NZ",
                                         "NCDHW",
                                         "DHWCN",
                                         "NDC1HWC0",
                                         "FRACTAL_Z_3D",
                                         "CN",
                                         "NC",
                                         "DHWNC",
                                         "FRACTAL_Z_3D_TRANSPOSE",
                                         "FRACTAL_ZN_LSTM",
                                         "FRACTAL_Z_G",
                                         "RESERVED",
                                         "ALL",
                                         "NULL",
                                         "ND_RNN_BIAS",
                                         "FRACTAL_ZN_RNN",
                                         "YUV",
                                         "YUV_A",
                                         "NCL",
                                         "FRACTAL_Z_WINO",
                                         "C1HWC0",
                                         "NZ_C0_16",
                                         "NZ_C0_32",
                                         "NZ_C0_2",
                                         "NZ_C0_4",
                                         "NZ_C0_8"};

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
  const auto index = static_cast<std::size_t>(number);
  return number >= 0 && index < std::size(kFormats) ? kFormats[index] : std::string_view();
}

std::optional<std::int32_t> find_dump_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name);
  if (found == std::end(kFormats)) return std::nullopt;
  return static_cast<std::int32_t>(found - kFormats);
}

}  // namespace opdump::format
