// Arrays as numpy.savetxt writes them: one number in each line, "%.18e"; complex ones " (re+imj)".
#pragma once

#include <filesystem>

#include "base/result.h"
#include "cli/array_pieces.h"

namespace opdump::cli {

// Errors: unsupported -- a dtype without numbers; io.
Result<> write_text(Array& array, const std::filesystem::path& path);

}  // namespace opdump::cli
