// A file that nobody else sees, for what does not fit into memory.
#pragma once

#include <filesystem>

#include "base/file/file.h"
#include "base/result.h"

namespace opdump {

// Where such files are: $TMPDIR, or /var/tmp, because /tmp is memory on many systems.
std::filesystem::path nameless_directory();

// An empty one in `folder`, open for reading and writing; it is gone when it is closed. Errors: io.
Result<Fd> open_nameless(const std::filesystem::path& folder);

}  // namespace opdump
