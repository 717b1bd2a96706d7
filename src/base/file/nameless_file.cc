#include "base/file/nameless_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace opdump {

std::filesystem::path nameless_directory() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp";
}

Result<Fd> open_nameless(const std::filesystem::path& folder) {
  Fd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
  std::string name = (folder / "opdump_XXXXXX").string();  // not every file system has such files
  fd = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return io_error(folder, "create a file (TMPDIR may name another directory)");
  ::unlink(name.c_str());
  return fd;
}

}  // namespace opdump
