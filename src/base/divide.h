// Work of known sizes divided between workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace opdump {

// For each piece the worker that has it, of `workers` (at least 1): the largest pieces first, each to the
// worker that has the least to do. The same arguments give the same answer everywhere.
std::vector<std::size_t> divide_by_bytes(std::span<const std::uint64_t> bytes, std::size_t workers);

}  // namespace opdump
