// Changes of layout against a copy of the same bytes.
// Usage: layout_bench [MiB]
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "math/layout/device_layout.h"

namespace {

using namespace opdump;
using model::DType;
using model::Format;
using model::Shape;
using model::TensorView;

struct Case {
  const char* name;
  DType dtype;
  Format from, to;
  Shape plain;
};

// The plain side holds about `bytes`; the stored side is a little larger where it is padded.
void run(const Case& test, std::size_t bytes) {
  const std::size_t size = model::dtype_info(test.dtype).bits / 8;
  Shape plain = test.plain;
  const std::size_t one = *model::element_count(plain) * size / static_cast<std::size_t>(plain[0]);
  plain.dims()[0] = static_cast<std::int64_t>(std::max<std::size_t>(bytes / one, 1));
  const bool to_plain = test.to == Format::nchw || test.to == Format::nhwc || test.to == Format::nd;
  const math::LayoutOptions options{math::block_sizes(test.dtype, math::Chip::ascend), 1};
  const auto stored =
      math::convert_shape(plain, to_plain ? test.to : test.from, to_plain ? test.from : test.to, options);
  const Shape from = to_plain ? *stored : plain, to = to_plain ? plain : *stored;
  std::vector<std::byte> in(*model::element_count(from) * size, std::byte{1});
  std::vector<std::byte> out(*model::element_count(to) * size);
  const TensorView view = TensorView::row_major(test.dtype, from, in.data());
  const double seconds = bench::best_seconds(
      [&] { bench::keep(math::convert_layout(view, test.from, test.to, to, 1, out)); }, 0.3, 3);
  const std::size_t copied = std::min(in.size(), out.size());
  const double copy = bench::best_seconds(
      [&] {
        std::memcpy(out.data(), in.data(), copied);
        bench::keep(out);
      },
      0.3, 3);
  bench::print_row(test.name, seconds, copied, "memcpy", copy);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = std::max<std::size_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 64, 1)
                            << 20;
  using enum Format;
  const Case cases[] = {
      {"f16 FRACTAL_NZ to ND, 4096 wide", DType::float16, fractal_nz, nd, {1, 1024, 4096}},
      {"f16 FRACTAL_NZ to ND, 1000 wide", DType::float16, fractal_nz, nd, {1, 1000, 1000}},
      {"f32 FRACTAL_NZ to ND, 4096 wide", DType::float32, fractal_nz, nd, {1, 1024, 4096}},
      {"i8  FRACTAL_NZ to ND, 4096 wide", DType::int8, fractal_nz, nd, {1, 1024, 4096}},
      {"f16 NC1HWC0 to NCHW, 64 of 112x112", DType::float16, nc1hwc0, nchw, {1, 64, 112, 112}},
      {"f16 NC1HWC0 to NCHW, 2048 of 7x7", DType::float16, nc1hwc0, nchw, {1, 2048, 7, 7}},
      {"f16 NC1HWC0 to NCHW, 20 of 56x56", DType::float16, nc1hwc0, nchw, {1, 20, 56, 56}},
      {"f32 NC1HWC0 to NCHW, 64 of 112x112", DType::float32, nc1hwc0, nchw, {1, 64, 112, 112}},
      {"i8  NC1HWC0 to NCHW, 64 of 112x112", DType::int8, nc1hwc0, nchw, {1, 64, 112, 112}},
      {"f16 NC1HWC0 to NHWC, 256 of 56x56", DType::float16, nc1hwc0, nhwc, {1, 56, 56, 256}},
      {"f16 FRACTAL_Z to NCHW, 512 x 512 x 3 x 3", DType::float16, fractal_z, nchw, {512, 512, 3, 3}},
      {"f16 NCHW to NC1HWC0, 64 of 112x112", DType::float16, nchw, nc1hwc0, {1, 64, 112, 112}},
      {"f16 ND to FRACTAL_NZ, 4096 wide", DType::float16, nd, fractal_nz, {1, 1024, 4096}},
      {"f16 NCHW to NHWC, 64 of 112x112", DType::float16, nchw, nhwc, {1, 64, 112, 112}},
  };
  std::printf("changes of layout, %zu MiB\n", bytes >> 20);
  for (const Case& test : cases) run(test, bytes);
}
