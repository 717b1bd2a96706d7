// Code that trusts its input, as the libraries of large file formats do: it may crash, run for ever or ask
// for any amount of memory. It runs in a copy of the process, and only bytes come back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace opdump {

struct IsolationLimits {
  std::uint64_t reply_bytes = 0;   // that it may send
  std::uint64_t memory_bytes = 0;  // beyond what the process has now
  std::chrono::seconds cpu{0};
};

// Sends the parent some bytes from the child. Returns false if the parent no longer reads.
using IsolatedSend = std::function<bool(std::string_view bytes)>;

// Runs `body` in a child that sees all memory and changes none; `take` gets what it sends, in the same
// pieces, while it goes on. All of it is worth nothing if the result is an error. What the body needs of
// other libraries should be loaded before: a lock that another thread holds now is never released in the
// child. Errors: those of `body` and `take`; corrupt (it crashed or used up its time or memory: the input is
// to blame); limit (more bytes than it may send); io (no process to be had).
Result<> run_isolated(const IsolationLimits& limits,
                      const std::function<Result<>(const IsolatedSend& send)>& body,
                      const std::function<Result<>(std::string_view bytes)>& take);

}  // namespace opdump
