#include "cli/python_process.h"

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

#include "base/file.h"
#include "base/text.h"

extern char** environ;

namespace opdump::cli {
namespace fs = std::filesystem;
namespace {

constexpr int kServerSocket = 3;

// Starts `script`; `actions` may be null.
Result<pid_t> spawn_python(const char* script, const std::vector<std::string>& arguments,
                           const posix_spawn_file_actions_t* actions) {
  const char* told = std::getenv("OPDUMP_PYTHON");
  const std::string python = told != nullptr && *told != '\0' ? told : "python3";
  std::vector<std::string> words = {python, "-B", "-c", script};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (const int error = ::posix_spawnp(&child, python.c_str(), actions, nullptr, argv.data(), environ);
      error != 0) {
    errno = error;
    return io_error(python, "start");
  }
  return child;
}

// The exit status; -1 if a signal ended it.
Result<int> wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return io_error("python3", "wait");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool send_all(const Fd& socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Without its end; nothing if the other side is gone.
std::optional<std::string> receive_line(const Fd& socket) {
  std::string line;
  for (char c = 0; line.size() < 64;) {
    const ssize_t n = ::recv(socket.get(), &c, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    if (c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

}  // namespace

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

Result<int> run_python(const char* script, const std::vector<std::string>& arguments) {
  OPDUMP_TRY(const pid_t child, spawn_python(script, arguments, nullptr));
  return wait_for(child);
}

PythonServer::~PythonServer() { stop(); }

// Its end of the socket tells the process that no more requests come.
void PythonServer::stop() {
  socket_ = Fd();
  if (child_ > 0) [[maybe_unused]]
    const bool is_known = static_cast<bool>(wait_for(child_));
  child_ = 0;
}

Result<> PythonServer::start() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return io_error("python3", "make a socket");
  Fd ours(ends[0]), theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kServerSocket);
  auto child = spawn_python(script_, arguments_, &actions);
  ::posix_spawn_file_actions_destroy(&actions);
  if (!child) return child.take_error();
  child_ = *child;
  socket_ = std::move(ours);
  return ok();
}

Result<int> PythonServer::ask(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (!socket_) OPDUMP_CHECK_OK(start());
  if (send_all(socket_, line + "\n"))
    if (const auto answer = receive_line(socket_))
      if (const auto number = parse_int64(*answer)) return static_cast<int>(*number);
  stop();
  return -1;
}

}  // namespace opdump::cli
