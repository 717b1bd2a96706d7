#include "group/group.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/text/text.h"
#include "group/mpi.h"

namespace opdump::group {
namespace {

constexpr int kIncomplete = 3;  // the exit status for "not answered"

// A number that a starter of processes has put into the environment.
std::size_t number_of(std::initializer_list<const char*> names, std::size_t otherwise = 1) {
  for (const char* name : names)
    if (const char* text = std::getenv(name))
      if (const auto number = parse_uint64(text)) return *number;
  return otherwise;
}

bool send(const Fd& socket, std::string_view text) {
  const std::uint64_t size = text.size();
  return write_all(socket, std::as_bytes(std::span(&size, 1)), "group") &&
         write_all(socket, std::as_bytes(std::span(text)), "group");
}

bool receive_all(const Fd& socket, char* at, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::read(socket.get(), at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

// Nothing if the other side is gone.
std::optional<std::string> receive(const Fd& socket) {
  std::uint64_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size)) return std::nullopt;
  std::string text(size, '\0');
  if (!receive_all(socket, text.data(), size)) return std::nullopt;
  return text;
}

// Passes on what the worker asks for until no worker of the group asks any more.
Result<> serve(const Mpi& mpi, const Fd& worker) {
  // A worker that is dead already is noticed below: the others have to learn it in their turn.
  [[maybe_unused]] const bool is_sent =
      send(worker, std::to_string(mpi.rank())) && send(worker, std::to_string(mpi.size()));
  for (;;) {
    const std::optional<std::string> mine = receive(worker);
    OPDUMP_TRY(const auto asking, mpi.gather(mine ? 1 : 0));
    if (std::ranges::count(asking, 0u) == static_cast<std::ptrdiff_t>(asking.size())) return ok();
    OPDUMP_TRY(const auto all, mpi.exchange(mine.value_or("")));
    if (!mine) continue;
    for (const std::string& text : all)
      if (!send(worker, text)) break;  // dead: the next receive() says so
  }
}

// The whole life of a supervisor. Returns what it exits with.
int supervise(Mpi mpi, pid_t child, const Fd& worker) {
  std::signal(SIGPIPE, SIG_IGN);
  bool is_well = static_cast<bool>(mpi.start());
  if (is_well) {
    is_well = static_cast<bool>(serve(mpi, worker));
    mpi.leave();
  }
  if (!is_well) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!is_well) return kIncomplete;
  if (mpi.rank() != 0) return 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kIncomplete;
}

}  // namespace

bool is_one_of_several() { return number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) > 1; }

std::size_t process_rank() {
  return is_one_of_several() ? number_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0) : 0;
}

Result<Group> Group::join() {
  Group group;
  if (!is_one_of_several()) return group;
  OPDUMP_TRY(Mpi mpi, Mpi::load());
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return io_error("group", "create");
  Fd theirs(ends[0]);
  group.supervisor_ = Fd(ends[1]);
  const pid_t child = ::fork();  // before MPI starts: it does not survive a fork
  if (child < 0) return io_error("group", "create a process");
  if (child > 0) {
    group.supervisor_ = Fd();
    ::_exit(supervise(std::move(mpi), child, theirs));
  }
  theirs = Fd();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto rank = receive(group.supervisor_), size = receive(group.supervisor_);
  if (!rank || !size) return Error(Code::io, "MPI did not start");
  group.rank_ = parse_uint64(*rank).value_or(0);
  group.size_ = parse_uint64(*size).value_or(1);
  return group;
}

std::size_t Group::size_here() const {
  const std::size_t here = number_of({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
  return std::clamp<std::size_t>(here, 1, size_);
}

void Group::silence_others() const {
  const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (is_leader() || !nowhere) return;
  ::dup2(nowhere.get(), STDOUT_FILENO);
  ::dup2(nowhere.get(), STDERR_FILENO);
}

Result<std::vector<std::string>> Group::exchange(const std::string& mine) const {
  if (!supervisor_) return std::vector<std::string>{mine};
  if (!send(supervisor_, mine)) return Error(Code::io, "MPI: the other processes are gone");
  std::vector<std::string> all;
  while (all.size() < size_) {
    auto text = receive(supervisor_);
    if (!text) return Error(Code::io, "MPI: the other processes are gone");
    all.push_back(std::move(*text));
  }
  return all;
}

}  // namespace opdump::group
