// Statistics against a plain read, strided copies against memcpy.
// Usage: stats_bench [MiB]   (512: larger than any cache)
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "math/layout/strided_copy.h"
#include "math/stats/stats.h"

namespace {

using namespace opdump;
using bench::best_seconds;
using bench::keep;
using model::DType;
using model::TensorView;

constexpr math::StatNeeds kDefault{.extremes = true, .squares = true};  // max, min, l2norm
constexpr math::StatNeeds kAll{true, true, true, true};

// Ordinary values of any float dtype, and small integers of the others: bytes that are no NaN or inf
// anywhere.
std::vector<std::byte> make_memory(std::size_t bytes) {
  std::vector<std::byte> memory(bytes);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t word = state & 0xbfffbfffbfffbfffu & ~0x4040404040404040u;
    std::memcpy(memory.data() + i, &word, 8);
  }
  return memory;
}

void run_stats(const std::vector<std::byte>& memory) {
  const std::size_t bytes = memory.size();
  const double read = best_seconds([&] { keep(bench::plain_read(memory.data(), bytes)); });
  std::printf("statistics of %zu MiB; plain read %.2f GB/s\n", bytes >> 20,
              static_cast<double>(bytes) / read / 1e9);
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32,
                            DType::int64, DType::uint8, DType::boolean}) {
    const std::int64_t count = static_cast<std::int64_t>(bytes * 8 / model::dtype_info(dtype).bits);
    const TensorView view = TensorView::row_major(dtype, {count}, memory.data());
    const std::string name(model::dtype_info(dtype).name);
    const auto time = [&](math::StatNeeds needs) {
      return best_seconds([&] { keep(math::partial_stats(view, needs)); });
    };
    bench::print_row((name + " max, min, l2norm").c_str(), time(kDefault), bytes, "a read", read);
    bench::print_row((name + " all eleven").c_str(), time(kAll), bytes, "a read", read);
  }
  const auto side = static_cast<std::int64_t>(bytes / 4096 / 4);
  TensorView view{DType::float32, {4096, side}, {1, 4096}, memory.data()};
  double seconds = best_seconds([&] { keep(math::partial_stats(view, kDefault)); });
  bench::print_row("float32 transposed, max, min, l2norm", seconds, bytes, "a read", read);
  view = {DType::float32, {side, 2048}, {4096, 1}, memory.data()};
  seconds = best_seconds([&] { keep(math::partial_stats(view, kDefault)); });
  bench::print_row("float32 half rows, max, min, l2norm", seconds, bytes / 2, "a read of as much", read / 2);
  view = {DType::float32, {4096, side / 2}, {1, 8192}, memory.data()};
  seconds = best_seconds([&] { keep(math::partial_stats(view, kDefault)); });
  bench::print_row("float32 half rows, transposed", seconds, bytes / 2, "a read of as much", read / 2);
}

void run_small(const std::vector<std::byte>& memory) {
  std::printf("statistics of one small float32 tensor\n");
  for (const std::int64_t count : {1, 10, 100, 300, 1000, 10000}) {
    const TensorView view = TensorView::row_major(DType::float32, {count}, memory.data());
    const auto time = [&](math::StatNeeds needs) {
      return 1e9 / 1000 *
             best_seconds(
                 [&] {
                   for (int i = 0; i < 1000; ++i) keep(math::partial_stats(view, needs));
                 },
                 0.02);
    };
    std::printf("  %6lld elements  %8.1f ns max, min, l2norm  %8.1f ns all eleven\n",
                static_cast<long long>(count), time(kDefault), time(kAll));
  }
}

void run_copies(const std::vector<std::byte>& memory) {
  const std::size_t bytes = memory.size() / 4;
  std::vector<std::byte> out(bytes);
  const double copy = best_seconds([&] {
    std::memcpy(out.data(), memory.data(), bytes);
    keep(out);
  });
  std::printf("strided copies of %zu MiB; memcpy %.2f GB/s\n", bytes >> 20,
              static_cast<double>(bytes) / copy / 1e9);
  for (const DType dtype :
       {DType::uint8, DType::float16, DType::float32, DType::float64, DType::complex128}) {
    const auto count = static_cast<std::int64_t>(bytes * 8 / model::dtype_info(dtype).bits);
    const std::string name(model::dtype_info(dtype).name);
    const auto time = [&](const char* what, const TensorView& view) {
      const double seconds = best_seconds([&] {
        math::copy_row_major(view, out);
        keep(out);
      });
      bench::print_row((name + " " + what).c_str(), seconds, view.byte_count(), "memcpy",
                       copy * static_cast<double>(view.byte_count()) / static_cast<double>(bytes));
    };
    const std::byte* data = memory.data();
    time("contiguous", TensorView::row_major(dtype, {count}, data));
    time("transposed 4096 wide", {dtype, {4096, count / 4096}, {1, 4096}, data});
    time("transposed 1000 wide", {dtype, {1000, count / 1000}, {1, 1000}, data});
    time("NHWC to NCHW, 64 of 56 x 56", {dtype, {count / 200704, 64, 56, 56}, {200704, 1, 3584, 64}, data});
    time("NCHW to NHWC, 64 of 56 x 56", {dtype, {count / 200704, 56, 56, 64}, {200704, 56, 1, 3136}, data});
    time("NHWC to NCHW, 3 of 224 x 224", {dtype, {count / 150528, 3, 224, 224}, {150528, 1, 672, 3}, data});
    time("heads: (B, S, H, 64) to (B, H, S, 64)",
         {dtype, {count / 524288, 16, 512, 64}, {524288, 64, 1024, 1}, data});
    time("every second", {dtype, {count / 2}, {2}, data});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t mib = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 512;
  const std::vector<std::byte> memory = make_memory(std::max<std::size_t>(mib, 4) << 20);
  run_small(memory);
  run_stats(memory);
  run_copies(memory);
}
