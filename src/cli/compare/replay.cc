#include "cli/compare/replay.h"

#include <cstdlib>
#include <utility>

#include "cli/python_package.h"

namespace opdump::cli {

ReplayWorker::ReplayWorker(std::string python) : python_(std::move(python)) {
  if (!python_.empty()) return;
  const char* chosen = std::getenv("OPDUMP_PYTHON");
  python_ = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

Result<> ReplayWorker::start() {
  OPDUMP_TRY(const auto package, find_python_package());
  OPDUMP_TRY(LineServer server, LineServer::start({python_, "-B", (package / "opdump/_replay.py").string()}));
  server_.emplace(std::move(server));
  return ok();
}

Result<std::string> ReplayWorker::ask(std::string request) {
  const bool is_first = !server_;
  if (is_first) OPDUMP_CHECK_OK(start());
  auto answer = server_->ask(std::move(request));
  if (!answer && is_first && answer.error().code() == Code::internal)
    return Error(Code::usage,
                 python_ + " cannot run operators again (does it have torch?); --python names another one");
  return answer;
}

}  // namespace opdump::cli
