// The device that the calling thread works on.
#pragma once

#include <cstdint>

namespace opdump::acl {

// That of its context, or the one it set; 0 before either.
std::int32_t current_device();

}  // namespace opdump::acl
