#include "cli/compare/replay.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "blame/evidence.h"
#include "blame/request.h"
#include "cli/python_package.h"
#include "compare/names.h"

namespace opdump::cli {

namespace {

// Empty if another program recorded it. It is only said, and never started: a dump may come from anywhere.
std::string python_of(const dump::DumpSet& dump) {
  for (const auto& [rank, status] : dump.statuses()) {
    const auto command = status.environment.find("command");
    if (command == status.environment.end()) continue;
    const std::string program = command->second.substr(0, command->second.find(' '));
    if (std::filesystem::path(program).filename().string().starts_with("python")) return program;
  }
  return {};
}

}  // namespace

ReplayWorker::ReplayWorker(std::string python, const dump::DumpSet& dump, std::string limits)
    : python_(std::move(python)), limits_(std::move(limits)), recorded_with_(python_of(dump)) {
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

void ReplayWorker::prepare() {
  if (!server_ && !was_asked_) static_cast<void>(start());
}

Result<std::string> ReplayWorker::ask(std::string request) {
  const bool is_first = !std::exchange(was_asked_, true);
  if (!server_) OPDUMP_CHECK_OK(start());
  if (is_first && !limits_.empty()) {
    OPDUMP_TRY(const std::string reply, ask(blame::make_limits_request(limits_)));
    if (const auto done = blame::parse_acknowledged(reply); !done) return done.error();
  }
  auto answer = server_->ask(std::move(request));
  if (!answer && is_first && answer.error().code() == Code::internal)
    return Error(Code::usage,
                 python_ + " cannot run operators again (does it have torch?); --python names another one" +
                     (recorded_with_.empty() || recorded_with_ == python_
                          ? std::string()
                          : ", as " + compare::one_line(recorded_with_) + ", which recorded the run"));
  return answer;
}

}  // namespace opdump::cli
