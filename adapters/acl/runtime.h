// The device that the calling thread works on, and who is notified of failures.
#pragma once

#include <acl/acl_base.h>

#include <cstdint>

namespace opdump::acl {

// That of its context, or the one it set; 0 before either.
std::int32_t current_device();

// Notifies the program that the operator of `task` failed on the calling thread's device, if it asked for
// that.
void call_exception_callback(std::uint64_t task, aclError code);

}  // namespace opdump::acl
