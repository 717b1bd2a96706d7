// A program in a process of its own, connected with this one by a socket.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/result.h"

namespace opdump {

class ConnectedChild {
 public:
  // `command` is the program, looked for as a shell does, and its arguments. The child has the socket at the
  // descriptors `places`, each below 16. Errors: not_found, io.
  static Result<ConnectedChild> start(std::vector<std::string> command, std::span<const int> places);
  // The first is the program. It has processes of its own at the other ends, each of which it has at one of
  // the descriptors `further`, and which end with it. Signals of the terminal do not reach them.
  static Result<std::vector<ConnectedChild>> start(std::vector<std::string> command,
                                                   std::span<const int> places, std::span<const int> further);
  ConnectedChild(ConnectedChild&& other) noexcept
      : child_(std::exchange(other.child_, 0)), connection_(std::move(other.connection_)) {}
  ConnectedChild& operator=(ConnectedChild&&) = delete;
  ~ConnectedChild();  // closes the socket, then waits for the child's end

  // Whether all of it could be sent. No signal is raised if the child has ended.
  bool send(std::string_view text) const;
  // The bytes that were received, at least one; 0 if no more can come.
  std::size_t receive(std::span<char> buffer) const;
  // How the program ended, after receive() has returned 0: "killed by signal 11 (SIGSEGV)". Empty where that
  // is not known: of another process than the first, and of one that has only closed its end.
  std::string how_it_ended() const;
  // Ends the program at once, whatever it does; another process than the first reads no more. Another thread
  // may be in send() or receive().
  void kill() const;

 private:
  static Result<std::vector<ConnectedChild>> start(std::vector<std::string> command,
                                                   std::span<const int> places, std::span<const int> further,
                                                   bool has_terminal);
  ConnectedChild(pid_t child, Fd connection) : child_(child), connection_(std::move(connection)) {}
  pid_t child_ = 0;
  Fd connection_;
};

}  // namespace opdump
