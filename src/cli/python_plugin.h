// Conversions that a user writes in Python, as msaccucmp takes them (cann.md 4.7): DIR/format_convert/
// convert_A_to_B.py with `convert(shape_from, shape_to, array)`, which returns an array; those to FRACTAL_Z
// take the groups as a fourth argument. One Python process makes all of them; it gets and gives .npy files.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/array_pieces.h"
#include "cli/msaccucmp.h"
#include "cli/python_process.h"

namespace opdump::cli {

struct FormatPlugins {
  std::filesystem::path directory;
  std::set<std::string> modules;         // "convert_A_to_B"
  std::shared_ptr<PythonServer> server;  // calls them
};

struct FoundPlugins {
  Status status = Status::ok;
  FormatPlugins plugins;
};
// Says on the log what the original says about files that are none. A file that others may write is refused:
// it would run.
FoundPlugins find_format_plugins(const std::string& directory, Log& log);

// Calls module's convert() with the flat elements. python3 is that of OPDUMP_PYTHON or of PATH.
// Errors: internal -- what it raised, or that it returned no array; unsupported -- it has no such function;
// io.
Result<Array> run_format_plugin(const FormatPlugins& plugins, const std::string& module,
                                const model::Shape& from, const model::Shape& to, std::int64_t groups,
                                Elements elements);

}  // namespace opdump::cli
