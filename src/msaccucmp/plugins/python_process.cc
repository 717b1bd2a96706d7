#include "msaccucmp/plugins/python_process.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <span>
#include <system_error>

namespace opdump::msaccucmp {
namespace fs = std::filesystem;

Result<TemporaryDirectory> TemporaryDirectory::make() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "opdump-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return io_error(name, "create directory");
  return TemporaryDirectory(name);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

Result<PythonServer> PythonServer::start(const char* script, const std::vector<std::string>& arguments) {
  const char* chosen = std::getenv("OPDUMP_PYTHON");
  std::vector<std::string> words = {chosen != nullptr && *chosen != '\0' ? chosen : "python3", "-B", "-c",
                                    script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  OPDUMP_TRY(ConnectedChild child, ConnectedChild::start(std::move(words), std::span(&kConnection, 1)));
  return PythonServer(std::move(child));
}

Result<int> PythonServer::ask(std::string line) {
  line += '\n';
  char answer = 0;
  if (child_.send(line) && child_.receive(std::span(&answer, 1)) == 1)
    return int{static_cast<unsigned char>(answer)};
  return Error(Code::internal, "python3 ended");
}

Result<int> PythonServers::ask(std::string line) {
  std::optional<PythonServer> server;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      server.emplace(std::move(idle_.back()));
      idle_.pop_back();
    }
  }
  if (!server) {
    OPDUMP_TRY(PythonServer started, PythonServer::start(script_, arguments_));
    server.emplace(std::move(started));
  }
  OPDUMP_TRY(const int answer, server->ask(std::move(line)));
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(*server));
  return answer;
}

}  // namespace opdump::msaccucmp
