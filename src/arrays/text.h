// Arrays as numpy.savetxt writes them: one number in each line, "%.18e"; complex ones " (re+imj)".
#pragma once

#include <filesystem>

#include "arrays/pieces.h"
#include "base/result.h"

namespace opdump::arrays {

// How long the text of an array becomes, about.
std::uint64_t text_bytes(const Array& array);

// By up to `threads` threads. Errors: unsupported -- a dtype without numbers; io.
Result<> write_text(Array& array, const std::filesystem::path& path, unsigned threads);

}  // namespace opdump::arrays
