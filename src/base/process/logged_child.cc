#include "base/process/logged_child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/file/file.h"

namespace opdump {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{3000}, kLook{20};

enum class Failed : int { directory = 1, program = 2 };
struct ChildFailure {
  Failed what;
  int error;
};

// The child's part; returns only if the program could not be started.
ChildFailure execute(const LoggedChild::Plan& plan, std::vector<char*>& words, int log) {
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC); null >= 0) ::dup2(null, STDIN_FILENO);
  if (!plan.directory.empty() && ::chdir(plan.directory.c_str()) != 0) return {Failed::directory, errno};
  for (const auto& [name, value] : plan.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execvp(words[0], words.data());
  return {Failed::program, errno};
}

}  // namespace

Result<LoggedChild> LoggedChild::start(const Plan& plan) {
  const Fd log(::open(plan.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!log) return io_error(plan.log, "create");
  std::vector<std::string> command = plan.command;
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("pipe", "create");
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return io_error(command[0], "fork");
  if (pid == 0) {
    const ChildFailure failure = execute(plan, words, log.get());
    (void)!::write(writer.get(), &failure, sizeof failure);
    ::_exit(127);
  }
  writer = Fd();
  LoggedChild child(pid);
  ChildFailure failure{};
  if (::read(reader.get(), &failure, sizeof failure) <= 0) return child;
  const std::string name = failure.what == Failed::directory ? plan.directory.string() : command[0];
  return Error(failure.error == ENOENT ? Code::not_found : Code::io,
               name + ": " + std::strerror(failure.error));
}

std::optional<int> LoggedChild::wait(milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (child_ > 0) {
    int status = 0;
    const pid_t ended = ::waitpid(child_, &status, WNOHANG);
    if (ended == child_ || (ended < 0 && errno != EINTR)) {
      child_ = 0;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (std::chrono::steady_clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(kLook);
  }
  return std::nullopt;
}

void LoggedChild::stop() {
  if (child_ <= 0) return;
  ::kill(child_, SIGTERM);
  if (wait(kPatience)) return;
  ::kill(child_, SIGKILL);
  while (child_ > 0 && !wait(kPatience)) {
  }
}

LoggedChild::~LoggedChild() { stop(); }

}  // namespace opdump
