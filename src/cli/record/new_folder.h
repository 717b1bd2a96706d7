// Where a verb records, if the user leaves that to it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace opdump::cli {

// A folder that is not there yet, or is empty: `output`, or, if that is empty, `fallback` or `fallback`-2,
// ... Nothing is created. Errors: usage -- `output` has files.
Result<std::filesystem::path> find_free_folder(const std::string& output, const std::string& fallback);

}  // namespace opdump::cli
