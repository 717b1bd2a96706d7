// Writes tensors as a recording does and prints how fast: write_bench DIRECTORY COUNT MIB THREADS
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "dump/write/rank_tree.h"

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "usage: write_bench DIRECTORY COUNT MIB THREADS\n"), 2;
  const std::filesystem::path directory = argv[1];
  const int count = std::atoi(argv[2]), threads = std::atoi(argv[4]);
  const auto bytes = static_cast<std::size_t>(std::atoi(argv[3])) << 20;
  const std::vector<float> memory(bytes / 4, 1.5f);

  using namespace opdump;
  auto layout = dump::open_rank_tree({directory, "net", 0, {}, false});
  if (!layout) return std::fprintf(stderr, "%s\n", layout.error().message().c_str()), 1;
  const model::Operator op{"add", "Default/add-op0", model::Phase::forward, 0, 0, "", 0};
  const auto view = model::TensorView::row_major(model::DType::float32,
                                                 {static_cast<std::int64_t>(memory.size())}, memory.data());
  std::atomic<int> next = 0, failed = 0;
  const auto work = [&] {
    for (int i; (i = next++) < count;)
      if (!(*layout)->write_tensor({.op = &op, .timestamp_us = static_cast<std::uint64_t>(i)}, view))
        ++failed;
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(work);
  for (std::thread& thread : pool) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("%f\n", static_cast<double>(bytes) * count / seconds.count() / 1e9);
  return failed ? 1 : 0;
}
