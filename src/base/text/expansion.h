// Files may be much smaller than what becomes of them: elements that lie compressed, numbers as text. A limit
// keeps a small file that somebody has sent from filling the disk and hours.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace opdump {

// Sets how many bytes may become of a file or a tensor, for the whole process. Otherwise it is what the
// environment variable OPDUMP_MAX_EXPAND says ("4G"), or 1 GiB and for large files 256 times as many as they
// have.
void set_most_expanded(std::uint64_t bytes);

// Whether `bytes` of `what` may become of `stored` bytes in a file. Fewer than are stored always may.
// Errors: limit.
Result<> check_expansion(std::uint64_t stored, std::uint64_t bytes, std::string_view what);

}  // namespace opdump
