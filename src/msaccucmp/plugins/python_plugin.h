// Conversions that a user writes in Python, as msaccucmp takes them (cann.md 4.7): DIR/format_convert/
// convert_A_to_B.py with `convert(shape_from, shape_to, array)`, which returns an array; those to FRACTAL_Z
// take the groups as a fourth argument. Python processes that stay make all of them; they get and give .npy
// files.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "arrays/pieces.h"
#include "base/result.h"
#include "msaccucmp/log.h"
#include "msaccucmp/plugins/python_process.h"

namespace opdump::msaccucmp {

struct FormatPlugins {
  std::filesystem::path directory;
  std::set<std::string> modules;           // "convert_A_to_B"
  std::shared_ptr<PythonServers> servers;  // call them
};

// Loads every module. Says on the log what the original says about files that are none, and about modules
// without such a function, which are left out. A directory with a file that others may write is refused: it
// would run.
Outcome<FormatPlugins> find_format_plugins(const std::string& directory, Log& log);

// Calls module's convert() with the flat elements. python3 is that of OPDUMP_PYTHON or of PATH.
// Errors: internal -- what it raised; unsupported -- it returned no array, as the original says; io.
Result<arrays::Array> run_format_plugin(const FormatPlugins& plugins, const std::string& module,
                                        const model::Shape& from, const model::Shape& to, std::int64_t groups,
                                        arrays::Elements elements);

}  // namespace opdump::msaccucmp
