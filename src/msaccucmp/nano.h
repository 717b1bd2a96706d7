// What msaccucmp says of a nano device's dump whose tensors leave out details (cann.md 3.3).
#pragma once

#include <cstddef>
#include <span>

#include "msaccucmp/msaccucmp.h"

namespace opdump::msaccucmp {

// `file` is one that decodes (format/tlv_dump.h).
void tell_missing_details(std::span<const std::byte> file, Log& log);

}  // namespace opdump::msaccucmp
