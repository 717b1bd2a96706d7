#include "base/line_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

extern char** environ;

namespace opdump {
namespace {

// Without a signal if the other side is gone.
bool send_all(const Fd& socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

Result<LineServer> LineServer::start(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return io_error(command.front(), "connect");
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int number : {STDIN_FILENO, STDOUT_FILENO})
    ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), number);
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  errno = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  const bool failed = errno != 0;
  const Error why = io_error(command.front(), "start");
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed) return why;
  return LineServer(child, std::move(ours), command.front());
}

LineServer::~LineServer() {
  connection_ = Fd();
  while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<std::string> LineServer::ask(std::string line) {
  line += '\n';
  const auto ended = [&] { return Error(Code::internal, name_ + " ended while it was at work"); };
  if (!send_all(connection_, line)) return ended();
  for (std::size_t looked = 0;;) {
    if (const std::size_t end = received_.find('\n', looked); end != std::string::npos) {
      std::string answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      return answer;
    }
    looked = received_.size();
    if (looked > kMaxAnswer) return Error(Code::limit, name_ + ": an answer is too long");
    std::array<char, 1 << 16> buffer{};
    const ssize_t n = ::read(connection_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ended();
    received_.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace opdump
