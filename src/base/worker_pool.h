// Work shared between threads. There is one way: count the pieces, give each to the next free thread.
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

// How many of `count` small pieces one call of parallel_for() should do, so that threads do not wait for each
// other where they hand over what came of them: some, yet so few that all threads stay busy to the end.
std::size_t pieces_at_once(std::size_t count, unsigned threads);

}  // namespace opdump
