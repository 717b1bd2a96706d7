#include "cli/compare/replay.h"

#include <cstdlib>
#include <utility>

#include "blame/evidence.h"
#include "blame/request.h"
#include "cli/python_package.h"

namespace opdump::cli {

ReplayWorker::ReplayWorker(std::string python, std::string limits)
    : python_(std::move(python)), limits_(std::move(limits)) {
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
  if (is_first && !limits_.empty()) {
    OPDUMP_TRY(const std::string reply, ask(blame::make_limits_request(limits_)));
    if (const auto done = blame::parse_acknowledged(reply); !done) return done.error();
  }
  auto answer = server_->ask(std::move(request));
  if (!answer && is_first && answer.error().code() == Code::internal)
    return Error(Code::usage,
                 python_ + " cannot run operators again (does it have torch?); --python names another one");
  return answer;
}

}  // namespace opdump::cli
