// Memory layouts of tensors and the names of their dimensions: the formats of CANN's dumps, one table of
// names and numbers (cann.md 3.1, mindspore.md 2.10). math/layout/device_layout.h defines the
// layouts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace opdump::model {

// The numbers are those of dump files; CANN's C interface and its graph engine share them.
enum class Format : std::uint8_t {
  nchw = 0,
  nhwc = 1,
  nd = 2,
  nc1hwc0 = 3,
  fractal_z = 4,
  nc1c0hwpad = 5,
  nhwc1c0 = 6,
  fsr_nchw = 7,
  fractal_deconv = 8,
  c1hwnc0 = 9,
  fractal_deconv_transpose = 10,
  fractal_deconv_sp_stride_trans = 11,
  nc1hwc0_c04 = 12,
  fractal_z_c04 = 13,
  chwn = 14,
  fractal_deconv_sp_stride8_trans = 15,
  hwcn = 16,
  nc1khkwhwc0 = 17,
  bn_weight = 18,
  filter_hwck = 19,
  hashtable_lookup_lookups = 20,
  hashtable_lookup_keys = 21,
  hashtable_lookup_value = 22,
  hashtable_lookup_output = 23,
  hashtable_lookup_hits = 24,
  c1hwncoc0 = 25,
  md = 26,
  ndhwc = 27,
  fractal_zz = 28,
  fractal_nz = 29,
  ncdhw = 30,
  dhwcn = 31,
  ndc1hwc0 = 32,
  fractal_z_3d = 33,
  cn = 34,
  nc = 35,
  dhwnc = 36,
  fractal_z_3d_transpose = 37,
  fractal_zn_lstm = 38,
  fractal_z_g = 39,
  reserved = 40,
  all = 41,
  null = 42,
  nd_rnn_bias = 43,
  fractal_zn_rnn = 44,
  yuv = 45,
  yuv_a = 46,
  ncl = 47,
  fractal_z_wino = 48,
  c1hwc0 = 49,
  fractal_nz_c0_16 = 50,
  fractal_nz_c0_32 = 51,
  fractal_nz_c0_2 = 52,
  fractal_nz_c0_4 = 53,
  fractal_nz_c0_8 = 54,
  max = 255,
};

// "NC1HWC0"; "" for a number outside the enum, which may come from a file.
std::string_view format_name(Format format);

// The format of a name as format_name spells it, or nothing.
std::optional<Format> find_format(std::string_view name);

// The graph engine's packed format number (cann.md 3.1): bits 0-7 format, 8-23 groups of a convolution,
// 24-27 the size of the innermost block as a power of two.
struct PackedFormat {
  Format format = Format::nd;
  std::uint16_t groups = 0;
  std::uint16_t c0 = 0;  // 0: not stated
};
PackedFormat unpack_format(std::uint32_t packed);

}  // namespace opdump::model
