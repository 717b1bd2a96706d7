#include "cli/python_package.h"

#include <string>
#include <system_error>

namespace opdump::cli {

namespace fs = std::filesystem;

Result<fs::path> find_python_package() {
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  if (fs::exists(prefix / "inject/sitecustomize.py", error)) return prefix.parent_path();
  for (const char* place : {"python", "lib/opdump/python"})
    if (fs::exists(prefix / place / "opdump/inject/sitecustomize.py", error)) return prefix / place;
  return Error(Code::not_found, "the Python package opdump is not beside the program in " + prefix.string());
}

}  // namespace opdump::cli
