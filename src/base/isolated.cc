#include "base/isolated.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/file.h"

namespace opdump {
namespace {

// In front of the bytes of a reply. A reply without all of its bytes was not finished.
struct Frame {
  std::uint64_t bytes = 0;
  std::uint64_t code = 0;  // 0: a value; else 1 + the Code of an error, whose message follows
};

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

[[noreturn]] void run_child(const IsolationLimits& limits, const Fd& pipe,
                            const std::function<Result<std::string>()>& body) {
  become_expendable(limits);
  const Result<std::string> result = body();
  const std::string_view text = result ? std::string_view(*result) : result.error().message();
  const Frame frame{text.size(), result ? 0 : 1 + static_cast<std::uint64_t>(result.error().code())};
  const bool sent = send(pipe, &frame, sizeof frame) && send(pipe, text.data(), text.size());
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

Result<IsolatedReply> receive_reply(const Fd& pipe, const IsolationLimits& limits) {
  Frame frame;
  if (!receive(pipe, &frame, sizeof frame)) return crashed();
  if (frame.bytes > (frame.code == 0 ? limits.reply_bytes : kMaxMessage))
    return Error(Code::limit, "more to tell than a file of this size should have");
  IsolatedReply reply{std::make_unique_for_overwrite<std::byte[]>(frame.bytes), frame.bytes};
  if (!receive(pipe, reply.bytes.get(), reply.size)) return crashed();
  if (frame.code == 0) return reply;
  const auto code = std::min<std::uint64_t>(frame.code - 1, static_cast<std::uint64_t>(Code::internal));
  return Error(static_cast<Code>(code),
               std::string(reinterpret_cast<const char*>(reply.bytes.get()), reply.size));
}

}  // namespace

Result<IsolatedReply> run_isolated(const IsolationLimits& limits,
                                   const std::function<Result<std::string>()>& body) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("pipe", "create");
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return io_error("process", "create");
  if (child == 0) run_child(limits, write_end, body);
  write_end = Fd();
  auto reply = receive_reply(read_end, limits);
  if (!reply) ::kill(child, SIGKILL);  // what it still does is of no use
  // A host that collects all children itself is no error.
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return reply;
}

}  // namespace opdump
