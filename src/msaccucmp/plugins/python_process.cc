#include "msaccucmp/plugins/python_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

extern char** environ;

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

namespace {

Result<pid_t> spawn_python(const char* script, const std::vector<std::string>& arguments,
                           const posix_spawn_file_actions_t& actions) {
  const char* chosen = std::getenv("OPDUMP_PYTHON");
  const std::string python = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
  std::vector<std::string> words = {python, "-B", "-c", script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, python.c_str(), &actions, nullptr, argv.data(), environ);
  if (error == 0) return child;
  errno = error;
  return io_error(python, "start");
}

// Both ends of a connection, at numbers that no child's place has.
Result<std::array<Fd, 2>> make_connection() {
  constexpr int kFirst = 16;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return io_error("python3", "connect");
  const Fd low[] = {Fd(ends[0]), Fd(ends[1])};
  std::array<Fd, 2> high;
  for (std::size_t i = 0; i < 2; ++i) high[i] = Fd(::fcntl(low[i].get(), F_DUPFD_CLOEXEC, kFirst));
  if (!high[0] || !high[1]) return io_error("python3", "connect");
  return high;
}

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

Result<PythonServer> PythonServer::start(const char* script, const std::vector<std::string>& arguments) {
  OPDUMP_TRY(auto ends, make_connection());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1].get(), kConnection);
  const auto child = spawn_python(script, arguments, actions);
  ::posix_spawn_file_actions_destroy(&actions);
  if (!child) return child.error();
  return PythonServer(*child, std::move(ends[0]));
}

PythonServer::~PythonServer() {
  connection_ = Fd();
  while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<int> PythonServer::ask(std::string line) {
  line += '\n';
  unsigned char answer = 0;
  ssize_t n = -1;
  if (send_all(connection_, line))
    while ((n = ::read(connection_.get(), &answer, 1)) < 0 && errno == EINTR) {
    }
  if (n == 1) return int{answer};
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
