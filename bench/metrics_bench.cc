// The comparison metrics against a plain read of both tensors.
// Usage: metrics_bench [MiB of both tensors together]
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "math/metrics/metrics.h"
#include "math/metrics/numpy_metrics.h"

namespace {

using namespace opdump;
using bench::best_seconds;
using bench::keep;
using model::DType;
using model::TensorView;

void run_pair(DType actual, DType golden, std::size_t side_bytes, double read_per_byte) {
  const std::size_t bits = std::max(model::dtype_info(actual).bits, model::dtype_info(golden).bits);
  const auto count = static_cast<std::int64_t>(side_bytes * 8 / bits);
  std::vector<std::byte> a(side_bytes, std::byte{0x3c}), g(side_bytes, std::byte{0x3c});
  for (std::size_t i = 0; i < side_bytes; i += 4096) a[i] ^= std::byte{1};
  const TensorView left = TensorView::row_major(actual, {count}, a.data());
  const TensorView right = TensorView::row_major(golden, {count}, g.data());
  const double seconds = best_seconds([&] { keep(math::compare_tensors(left, right, {1e-3, 1e-5})); });
  const std::size_t bytes = left.byte_count() + right.byte_count();
  const std::string name =
      std::string(model::dtype_info(actual).name) + " against " + std::string(model::dtype_info(golden).name);
  bench::print_row(name.c_str(), seconds, bytes, "a read", read_per_byte * static_cast<double>(bytes));
}

// The ten metrics of msaccucmp, once in the cache and once not.
void run_ten(std::size_t side_bytes, bool divergence, unsigned threads) {
  std::vector<float> a(side_bytes / sizeof(float)), g(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i * 7919 % 1000) / 100 - 5;
    g[i] = a[i] + static_cast<float>(i % 13) / 1000;
  }
  const math::NumpyMetricNeeds needs{true, true, divergence};
  const auto count = static_cast<std::int64_t>(a.size());
  const TensorView left = TensorView::row_major(DType::float32, {count}, a.data());
  const TensorView right = TensorView::row_major(DType::float32, {count}, g.data());
  const double read = best_seconds(
      [&] { keep(bench::plain_read(a.data(), side_bytes) + bench::plain_read(g.data(), side_bytes)); }, 0.2);
  const double seconds = best_seconds([&] { keep(math::numpy_metrics(left, right, needs, threads)); });
  const std::string name = std::string(divergence ? "all ten" : "without divergence") + ", " +
                           std::to_string(2 * side_bytes >> 10) + " KiB, " + std::to_string(threads) +
                           " thread(s)";
  bench::print_row(name.c_str(), seconds, 2 * side_bytes, "a read", read);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = std::max<std::size_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 512, 4)
                            << 20;
  double read = 0;
  {
    const std::vector<std::byte> memory(bytes, std::byte{1});
    read = best_seconds([&] { keep(bench::plain_read(memory.data(), bytes)); });
  }
  std::printf("all metrics of two tensors, %zu MiB together; plain read %.2f GB/s\n", bytes >> 20,
              static_cast<double>(bytes) / read / 1e9);
  const double per_byte = read / static_cast<double>(bytes);
  run_pair(DType::float32, DType::float32, bytes / 2, per_byte);
  run_pair(DType::float64, DType::float64, bytes / 2, per_byte);
  run_pair(DType::float16, DType::float16, bytes / 2, per_byte);
  run_pair(DType::float16, DType::float32, bytes / 2, per_byte);
  run_pair(DType::bfloat16, DType::float32, bytes / 2, per_byte);
  run_pair(DType::int32, DType::int32, bytes / 2, per_byte);
  run_pair(DType::float32, DType::float64, bytes / 2, per_byte);
  std::printf("the ten metrics of msaccucmp, float32\n");
  for (const std::size_t side : {std::size_t{64} << 10, bytes / 2})
    for (const bool divergence : {true, false})
      for (const unsigned threads : {1u, 2u}) run_ten(side, divergence, threads);
}
