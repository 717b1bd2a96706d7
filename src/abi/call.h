// The way out for doors in other files: what opdump.cc does with an error, so that there is one last failure.
#pragma once

#include <functional>

#include "base/result.h"
#include "opdump/opdump.h"

namespace opdump::abi {

// Runs `body`; its error, or what it throws, becomes this thread's last failure.
opdump_status call(const std::function<Result<>()>& body) noexcept;

}  // namespace opdump::abi
