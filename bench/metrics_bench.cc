// The comparison metrics against a plain read of both tensors.
// Usage: metrics_bench [MiB of both tensors together]
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "math/metrics.h"

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
}
