// Code that trusts its input, as the libraries of large file formats do: it may crash, run for ever or ask
// for any amount of memory. It runs in a copy of the process, and only bytes come back.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace opdump {

struct IsolationLimits {
  std::uint64_t reply_bytes = 0;
  std::uint64_t memory_bytes = 0;  // beyond what the process has now
  std::chrono::seconds cpu{0};
};

struct IsolatedReply {
  std::unique_ptr<std::byte[]> bytes;  // aligned for any element
  std::size_t size = 0;

  std::span<const std::byte> span() const { return {bytes.get(), size}; }
};

// What `body` returns, from a child that sees all memory and changes none. What the body needs of other
// libraries should be loaded before: a lock that another thread holds now is never released in the child.
// Errors: those of `body`; corrupt (it crashed or used up its time or memory: the input is to blame); limit
// (a longer reply); io (no process to be had).
Result<IsolatedReply> run_isolated(const IsolationLimits& limits,
                                   const std::function<Result<std::string>()>& body);

}  // namespace opdump
