// The record of an overflow, mindspore.md 6.2 and cann.md 3.5: the 2048 bytes that a device writes for a
// debugging task, or MindSpore's JSON form of them. Records of newer devices start with their own magic
// number and have one section. We write the older kind, which every reader supports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace opdump::format {

inline constexpr std::size_t kOpDebugBytes = 2048;

// The report of one unit. Addresses are those of the device.
struct OpDebugUnit {
  std::uint64_t model_id = 0, stream_id = 0, task_id = 0, task_type = 0;
  std::uint64_t pc_start = 0, para_base = 0;
  std::uint64_t status = 0;                      // not 0: overflow
  std::uint64_t kernel_code = 0, block_idx = 0;  // AI Core only
  bool operator==(const OpDebugUnit&) const = default;
};

struct OpDebug {
  OpDebugUnit dha_atomic_add, l2_atomic_add, ai_core;
  bool operator==(const OpDebug&) const = default;
};

// kOpDebugBytes, the older kind.
std::vector<std::byte> encode_op_debug(const OpDebug& record);

// kOpDebugBytes, the newer kind: `unit` as that of an AI core, without a context or thread.
std::vector<std::byte> encode_newer_op_debug(const OpDebugUnit& unit);

// Compact JSON, keys sorted, no line feed.
std::string encode_op_debug_json(const OpDebug& record);

// Reads either kind; the section of the newer kind is returned as that of the AI Core. Errors: corrupt.
Result<OpDebug> decode_op_debug(std::span<const std::byte> blob);

// Reads the output of encode_op_debug_json(), also with blanks. Errors: corrupt.
Result<OpDebug> decode_op_debug_json(std::string_view text);

}  // namespace opdump::format
