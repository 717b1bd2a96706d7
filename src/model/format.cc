#include "model/format.h"

#include <iterator>

namespace opdump::model {
namespace {

constexpr std::string_view kNames[] = {
    "NCHW",
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
    "NZ_C0_8",
};

}  // namespace

std::string_view format_name(Format format) {
  if (format == Format::max) return "MAX";
  const auto number = static_cast<std::size_t>(format);
  return number < std::size(kNames) ? kNames[number] : std::string_view();
}

std::optional<Format> find_format(std::string_view name) {
  for (std::size_t number = 0; number < std::size(kNames); ++number)
    if (kNames[number] == name) return static_cast<Format>(number);
  if (name == "MAX") return Format::max;
  return std::nullopt;
}

PackedFormat unpack_format(std::uint32_t packed) {
  const std::uint32_t c0_code = packed >> 24 & 0xf;
  return {static_cast<Format>(packed & 0xff), static_cast<std::uint16_t>(packed >> 8 & 0xffff),
          static_cast<std::uint16_t>(c0_code == 0 ? 0 : 1u << (c0_code - 1))};
}

}  // namespace opdump::model
