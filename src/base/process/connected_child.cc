#include "base/process/connected_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

extern char** environ;

namespace opdump {
namespace {

// Both ends, at numbers that no place in the child has: a descriptor that is duplicated onto itself would be
// closed when the program starts.
Result<std::array<Fd, 2>> make_connection(const std::string& name) {
  constexpr int kFirst = 16;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return io_error(name, "connect");
  const Fd low[] = {Fd(ends[0]), Fd(ends[1])};
  std::array<Fd, 2> high;
  for (std::size_t i = 0; i < 2; ++i) high[i] = Fd(::fcntl(low[i].get(), F_DUPFD_CLOEXEC, kFirst));
  if (!high[0] || !high[1]) return io_error(name, "connect");
  return high;
}

// Of those that a program gets without asking for it.
std::string signal_text(int signal) {
  constexpr std::pair<int, const char*> kNames[] = {
      {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},  {SIGILL, "SIGILL"},
      {SIGKILL, "SIGKILL"}, {SIGSEGV, "SIGSEGV"}, {SIGTERM, "SIGTERM"}};
  std::string text = "signal " + std::to_string(signal);
  const auto* const name = std::ranges::find(kNames, signal, &std::pair<int, const char*>::first);
  return name == std::end(kNames) ? text : text + " (" + name->second + ")";
}

}  // namespace

Result<ConnectedChild> ConnectedChild::start(std::vector<std::string> command, std::span<const int> places) {
  OPDUMP_TRY(auto started, start(std::move(command), places, {}, true));
  return std::move(started.front());
}

Result<std::vector<ConnectedChild>> ConnectedChild::start(std::vector<std::string> command,
                                                          std::span<const int> places,
                                                          std::span<const int> further) {
  return start(std::move(command), places, further, false);
}

Result<std::vector<ConnectedChild>> ConnectedChild::start(std::vector<std::string> command,
                                                          std::span<const int> places,
                                                          std::span<const int> further, bool has_terminal) {
  OPDUMP_TRY(auto ends, make_connection(command.front()));
  std::vector<std::array<Fd, 2>> others;
  for (std::size_t i = 0; i < further.size(); ++i) {
    OPDUMP_TRY(auto more, make_connection(command.front()));
    others.push_back(std::move(more));
  }
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int place : places) ::posix_spawn_file_actions_adddup2(&actions, ends[1].get(), place);
  for (std::size_t i = 0; i < further.size(); ++i)
    ::posix_spawn_file_actions_adddup2(&actions, others[i][1].get(), further[i]);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  if (!has_terminal) ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // a group of its own
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    errno = error;
    return io_error(command.front(), "start");
  }
  std::vector<ConnectedChild> started;
  started.push_back(ConnectedChild(child, std::move(ends[0])));
  for (auto& other : others) started.push_back(ConnectedChild(0, std::move(other[0])));
  return started;
}

ConnectedChild::~ConnectedChild() {
  connection_ = Fd();
  while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string ConnectedChild::how_it_ended() const {
  if (child_ <= 0) return {};
  constexpr auto kPatience = std::chrono::seconds(1);  // its end of the socket closes just before
  const auto until = std::chrono::steady_clock::now() + kPatience;
  siginfo_t info{};
  // It stays to be waited for: kill() may still name it.
  while (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == 0) {
    if (std::chrono::steady_clock::now() > until) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (info.si_code == CLD_EXITED) return "exit status " + std::to_string(info.si_status);
  return "killed by " + signal_text(info.si_status);
}

void ConnectedChild::kill() const {
  if (child_ > 0)
    ::kill(child_, SIGKILL);
  else
    ::shutdown(connection_.get(), SHUT_RDWR);
}

bool ConnectedChild::send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t n = ::send(connection_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::size_t ConnectedChild::receive(std::span<char> buffer) const {
  ssize_t n = -1;
  while ((n = ::read(connection_.get(), buffer.data(), buffer.size())) < 0 && errno == EINTR) {
  }
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

}  // namespace opdump
