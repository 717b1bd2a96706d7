#include "cli/python_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

extern char** environ;

namespace opdump::cli {
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

// Starts Python; `actions` may be null.
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
  const int error = ::posix_spawnp(&child, python.c_str(), actions, nullptr, argv.data(), environ);
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

// Errors: those of the system, in errno.
bool wait_for(pid_t child, int& status) {
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return false;
  return true;
}

}  // namespace

Result<int> run_python(const char* script, const std::vector<std::string>& arguments) {
  OPDUMP_TRY(const pid_t child, spawn_python(script, arguments, nullptr));
  int status = 0;
  if (!wait_for(child, status)) return io_error("python3", "wait");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Result<PythonServer> PythonServer::start(const char* script, const std::vector<std::string>& arguments) {
  OPDUMP_TRY(auto ends, make_connection());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1].get(), kConnection);
  const auto child = spawn_python(script, arguments, &actions);
  ::posix_spawn_file_actions_destroy(&actions);
  if (!child) return child.error();
  return PythonServer(*child, std::move(ends[0]));
}

PythonServer::~PythonServer() {
  connection_ = Fd();
  int status = 0;
  if (child_ > 0) wait_for(child_, status);
}

Result<> PythonServer::ask(std::string line) {
  line += '\n';
  char reply = 0;
  ssize_t n = -1;
  if (send_all(connection_, line))
    while ((n = ::read(connection_.get(), &reply, 1)) < 0 && errno == EINTR) {
    }
  if (n == 1) return ok();
  return Error(Code::internal, "python3 gave no answer");
}

}  // namespace opdump::cli
