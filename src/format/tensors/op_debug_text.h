// The record of an overflow (op_debug.h) as the JSON that msaccucmp makes of it, cann.md 3.5: indented by 4,
// keys in the record's order, no line feed at the end.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace opdump::format {

struct OpDebugText {
  std::string json;
  std::vector<std::string> remarks;  // problems that do not fail the original: "The value of valid ..."
};

// Errors: corrupt -- the older kind is not 2048 bytes, the newer too short for its numbers; unsupported -- a
// newer one of a unit that is none of AIC, AIV, AICPU and SDMA.
Result<OpDebugText> format_op_debug(std::span<const std::byte> record);

// Whether a record begins as those of the newer kind.
bool is_newer_op_debug(std::span<const std::byte> record);

}  // namespace opdump::format
