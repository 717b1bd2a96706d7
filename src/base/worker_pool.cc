#include "base/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace opdump {

unsigned worker_count(unsigned threads) {
  return std::max(1u, threads == 0 ? std::thread::hardware_concurrency() : threads);
}

std::size_t pieces_at_once(std::size_t count, unsigned threads) {
  constexpr std::size_t kSharesPerThread = 64, kMost = 16;
  return std::clamp<std::size_t>(count / (kSharesPerThread * worker_count(threads)), 1, kMost);
}

void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& fn) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) fn(i);
  };
  std::vector<std::jthread> helpers;
  const std::size_t wanted = std::min<std::size_t>(worker_count(threads), count);
  try {
    for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // A limit on threads is no reason not to answer: the caller's thread is enough.
  }
  work();
}

}  // namespace opdump
