#include "terminal/pager.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "terminal/held_output.h"
#include "terminal/output.h"

extern char** environ;

namespace opdump::terminal {

void HeldOutput::write(std::string_view text) {
  if (!holds_) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  held_.append(text);
  lines_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
  if (lines_ >= room_) {
    start_pager();
    release();
  }
}

void HeldOutput::hold(std::size_t lines, std::string pager) {
  holds_ = true;
  room_ = lines;
  pager_ = std::move(pager);
}

void HeldOutput::release() {
  holds_ = false;
  std::fwrite(held_.data(), 1, held_.size(), stdout);
  held_ = {};
}

// A pager that cannot be started is no reason to print nothing.
void HeldOutput::start_pager() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  ::setenv("LESS", "FRX", 0);
  const char* const words[] = {"sh", "-c", pager_.c_str(), nullptr};
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, "/bin/sh", &actions, nullptr, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[0]);
  if (failed == 0) {
    std::fflush(stdout);
    ::dup2(ends[1], STDOUT_FILENO);
    // Ctrl-C is the pager's, which must not be left alone on the terminal.
    ::signal(SIGINT, SIG_IGN);
    pager_pid_ = pid;
  }
  ::close(ends[1]);
}

void HeldOutput::finish() {
  if (holds_) release();
  if (pager_pid_ <= 0) return;
  std::fflush(stdout);
  ::close(STDOUT_FILENO);
  while (::waitpid(pager_pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pager_pid_ = 0;
}

HeldOutput& held_output() {
  static HeldOutput output;
  return output;
}

Pager::Pager() {
  const char* const wanted = std::getenv("PAGER");
  const std::string pager = wanted == nullptr ? "less" : wanted;
  struct winsize size {};
  if (pager.empty() || pager == "cat" || !prints_to_terminal() ||
      ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
    return;
  if (wanted == nullptr && std::system("command -v less >/dev/null 2>&1") != 0) return;
  held_output().hold(size.ws_row, pager);
}

Pager::~Pager() { held_output().finish(); }

}  // namespace opdump::terminal
