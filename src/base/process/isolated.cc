#include "base/process/isolated.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "base/file/file.h"
#include "base/file/resident.h"

namespace opdump {
namespace {

// Stands in front of the bytes that the child sends.
struct PieceHeader {
  std::uint64_t bytes = 0;
  std::uint64_t kind = 0;
};
constexpr std::uint64_t kPiece = 0, kEnd = 1;
constexpr std::uint64_t kError = 2;  // and the Code of the error, whose message follows
constexpr std::uint64_t kMaxMessage = 64 * 1024;

// Address space in use, in bytes.
std::uint64_t address_space() {
  const auto text = read_file("/proc/self/statm", 4096);
  return text ? std::strtoull(text->c_str(), nullptr, 10) * static_cast<std::uint64_t>(::getpagesize()) : 0;
}

void set_limit(__rlimit_resource resource, std::uint64_t value) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(value, limit.rlim_max);
  ::setrlimit(resource, &limit);
}

// A crash of the child is nobody's business but ours: no handler of the host, no core file, no message.
void become_expendable(const IsolationLimits& limits) {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU, SIGPIPE, SIGTERM, SIGINT})
    std::signal(number, SIG_DFL);
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, static_cast<std::uint64_t>(limits.cpu.count()));
  if (const std::uint64_t now = address_space(); now > 0) set_limit(RLIMIT_AS, now + limits.memory_bytes);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
}

bool send(const Fd& pipe, const void* data, std::size_t bytes) {
  return static_cast<bool>(write_all(pipe, {static_cast<const std::byte*>(data), bytes}, "reply"));
}

bool send_piece(const Fd& pipe, std::uint64_t kind, std::string_view bytes) {
  const PieceHeader frame{bytes.size(), kind};
  return send(pipe, &frame, sizeof frame) && send(pipe, bytes.data(), bytes.size());
}

[[noreturn]] void run_child(const IsolationLimits& limits, const Fd& pipe,
                            const std::function<Result<>(const IsolatedSend&)>& body) {
  watch_mappings();
  become_expendable(limits);
  const Result<> result = body([&](std::string_view bytes) { return send_piece(pipe, kPiece, bytes); });
  const bool sent = result ? send_piece(pipe, kEnd, {})
                           : send_piece(pipe, kError + static_cast<std::uint64_t>(result.error().code()),
                                        result.error().message());
  ::_exit(sent ? 0 : 1);
}

// False if the pipe ends before.
bool receive(const Fd& pipe, void* data, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t n = ::read(pipe.get(), at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

Error crashed() {
  return {Code::corrupt, "reading it crashed, or took more memory or time than its size justifies"};
}

// Passes on what the child sends until it is done.
Result<> receive_all(const Fd& pipe, const IsolationLimits& limits,
                     const std::function<Result<>(std::string_view)>& take) {
  std::string bytes;
  for (std::uint64_t left = limits.reply_bytes;;) {
    PieceHeader frame;
    if (!receive(pipe, &frame, sizeof frame)) return crashed();
    if (frame.bytes > (frame.kind == kPiece ? left : kMaxMessage))
      return Error(Code::limit, "more output than a file of this size can have");
    bytes.resize(frame.bytes);
    if (!receive(pipe, bytes.data(), bytes.size())) return crashed();
    if (frame.kind == kEnd) return ok();
    if (frame.kind != kPiece) {
      const auto code = std::min(frame.kind - kError, static_cast<std::uint64_t>(Code::internal));
      return Error(static_cast<Code>(code), std::move(bytes));
    }
    left -= frame.bytes;
    OPDUMP_CHECK_OK(take(bytes));
  }
}

}  // namespace

Result<> run_isolated(const IsolationLimits& limits,
                      const std::function<Result<>(const IsolatedSend& send)>& body,
                      const std::function<Result<>(std::string_view bytes)>& take) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("pipe", "create");
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return io_error("process", "create");
  if (child == 0) run_child(limits, write_end, body);
  write_end = Fd();
  auto done = receive_all(read_end, limits, take);
  if (!done) ::kill(child, SIGKILL);  // what it still does is of no use
  // A host that collects all children itself is no error.
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return done;
}

}  // namespace opdump
