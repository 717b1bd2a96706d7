#include "cli/record/recorded_program.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file/file.h"
#include "cli/python_package.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

volatile sig_atomic_t child_pid = 0;

// Signals sent to us are meant for the program. Those of the terminal reach it by themselves.
void forward_signal(int number, siginfo_t* info, void*) {
  if (child_pid > 0 && info->si_code <= 0) ::kill(child_pid, number);
}

constexpr std::array kForwarded{SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// The child's part; returns only if the program could not be started.
void execute(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
}

// Of a program that could not be started, as shells give them.
constexpr int kNotFound = 127, kNotExecutable = 126;

// "train.py: No such file or directory" would mislead, if it is there.
std::string describe_failure(const std::string& program, int error) {
  std::error_code ignored;
  if (program.ends_with(".py") && fs::is_regular_file(program, ignored))
    return program + " is not a program that can be started; write: python3 " + program;
  return program + ": " + std::generic_category().message(error);
}

struct Started {
  pid_t pid = 0;
  int error = 0;  // errno, if it could not be executed
};

Result<Started> start(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("pipe", "create");
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return io_error(command[0], "fork");
  if (pid == 0) {
    execute(command);
    const int number = errno;
    ::_exit(::write(writer.get(), &number, sizeof number) < 0 ? kNotExecutable : kNotFound);
  }
  child_pid = pid;
  writer = Fd();
  int number = 0;
  if (::read(reader.get(), &number, sizeof number) <= 0) return Started{.pid = pid};
  ::waitpid(pid, nullptr, 0);
  return Started{.pid = pid, .error = number};
}

// Those that were ignored stay so, of nohup, say: the program inherits that.
void forward_signals() {
  struct sigaction forward {};
  forward.sa_sigaction = forward_signal;
  forward.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int number : kForwarded) {
    struct sigaction inherited {};
    ::sigaction(number, nullptr, &inherited);
    if (inherited.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &forward, nullptr);
  }
}

constexpr std::string_view kReportPrefix = "opdump-run-";

// A process holds the lock on its report as long as it lives, but not in the moment in which it makes it.
bool is_abandoned(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid())
    return false;
  return std::time(nullptr) - info.st_mtime > 60 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

// Removes what runs that were killed have left.
void remove_abandoned(const fs::path& folder) {
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kReportPrefix) || name.find('.') != std::string::npos) continue;
    if (!is_abandoned(entry->path())) continue;
    ::unlink(entry->path().c_str());
    ::unlink((entry->path().string() + ".messages").c_str());
    std::error_code ignored;
    fs::remove_all(entry->path().string() + "-folder", ignored);
  }
}

}  // namespace

RunReport::RunReport() {
  std::error_code failure;
  const fs::path folder = fs::temp_directory_path(failure);
  if (failure) return;
  remove_abandoned(folder);
  std::string pattern = folder / (std::string(kReportPrefix) + "XXXXXX");
  lock_ = Fd(::mkostemp(pattern.data(), O_CLOEXEC));
  if (!lock_) return;
  ::flock(lock_.get(), LOCK_EX);
  path_ = pattern;
  const Fd messages(::open(messages_path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

void RunReport::remove() {
  if (path_.empty()) return;
  lock_ = Fd();
  ::unlink(path_.c_str());
  ::unlink(messages_path().c_str());
  path_.clear();
}

std::ptrdiff_t RunReport::count(char kind) const {
  const auto text = read_file(path_, 1 << 20);
  return text ? std::ranges::count(*text, kind) : 0;
}

std::string RunReport::messages() const {
  auto text = read_file(path_.empty() ? path_ : messages_path(), 16 << 20);
  return text ? std::move(*text) : "";
}

std::string describe_absence(const RunReport& report) {
  if (report.count('x') > 0)
    return "the program's import of torch or TensorFlow failed (opdump doctor --python PYTHON says why)";
  return "the program did not import torch or TensorFlow (Python with -I, -E or -S does not load opdump: "
         "leave "
         "these options out)";
}

Result<> set_environment(const ProgramSettings& settings, const RunReport& report) {
  OPDUMP_TRY(const fs::path package, find_python_package());
  // Not the directory of the package: the hook adds it where Python does not look there anyway.
  std::string path = (package / "opdump/inject").string();
  if (const char* old = std::getenv("PYTHONPATH"); old && *old) path.append(":").append(old);
  ::setenv("PYTHONPATH", path.c_str(), 1);
  ::setenv("OPDUMP_RUN_REPORT", report.path().c_str(), 1);
  if (struct stat info{}; ::fstat(STDERR_FILENO, &info) == 0)
    ::setenv("OPDUMP_RUN_STDERR", (std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino)).c_str(),
             1);
  const std::pair<const char*, std::string> variables[] = {
      {"OPDUMP_CONFIG", settings.config.empty() ? "" : fs::absolute(settings.config).string()},
      {"OPDUMP_COMPAT", settings.compat},
      {"OPDUMP_MODE", settings.mode},
      {"OPDUMP_DIALECT", settings.dialect},
      {"OPDUMP_STRICT", settings.strict ? "1" : ""},
      {"OPDUMP_COMPILED", settings.compiled},
      {"OPDUMP_BEST_EFFORT", settings.best_effort ? "1" : ""},
      {"OPDUMP_DEVICE_FORMAT", settings.device_format}};
  for (const auto& [name, value] : variables)
    if (!value.empty()) ::setenv(name, value.c_str(), 1);
  return ok();
}

Result<ProgramRun> run_program(const std::vector<std::string>& command, const std::function<bool()>& poll) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  forward_signals();
  OPDUMP_TRY(const Started started, start(command));
  ProgramRun run{.error = started.error};
  if (started.error != 0) return run;
  while (poll && !run.was_stopped) {
    if (::waitpid(started.pid, &run.status, WNOHANG) > 0) return run;
    std::this_thread::sleep_for(kPause);
    run.was_stopped = poll();
  }
  if (run.was_stopped) ::kill(started.pid, SIGTERM);
  while (::waitpid(started.pid, &run.status, 0) < 0 && errno == EINTR) {
  }
  return run;
}

Result<fs::path> find_own_program() {
  std::error_code failure;
  fs::path program = fs::read_symlink("/proc/self/exe", failure);
  if (failure) return Error(Code::io, "/proc/self/exe: " + failure.message());
  return program;
}

int report_failure(const std::string& program, int error) {
  terminal::print_error(describe_failure(program, error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

int pass_on(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  const rlimit no_core{0, 0};  // the program has left one already, if any
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(number, SIG_DFL);
  ::raise(number);
  return 128 + number;
}

}  // namespace opdump::cli
