// The Python package that belongs to this program.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace opdump::cli {

// The directory that contains the package opdump: beside the program in build/release/{bin,python} or
// PREFIX/{bin,lib/opdump/python}; or the program lies in the package, where pip puts it:
// site-packages/opdump/bin. Errors: not_found.
Result<std::filesystem::path> find_python_package();

}  // namespace opdump::cli
