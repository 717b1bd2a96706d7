// Work shared between threads. There is one way: count the pieces, give each to whoever is free.
#pragma once

#include <cstddef>
#include <functional>

namespace opdump {

// The number of threads that `threads` asks for: itself, or one per core if it is 0. At least 1.
unsigned worker_count(unsigned threads);

// Calls fn(0) ... fn(count - 1), each once, on at most `threads` threads (0: one per core), the caller's
// among them, and returns when all have returned. Small numbers are started first; the order is otherwise
// open. With one thread everything runs in order on the caller. `fn` must not throw. If the system refuses
// more threads, those that are there do the work.
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& fn);

}  // namespace opdump
