// Arrays as text of numpy.savetxt: one number per line, "%.18e"; complex numbers as " (re+imj)".
#pragma once

#include <filesystem>

#include "arrays/pieces.h"
#include "base/result.h"

namespace opdump::arrays {

// The approximate length of an array's text.
std::uint64_t text_bytes(const Array& array);

// Uses up to `threads` threads. Errors: unsupported -- a dtype without numbers; io.
Result<> write_text(Array& array, const std::filesystem::path& path, unsigned threads);

}  // namespace opdump::arrays
