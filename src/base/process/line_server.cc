#include "base/process/line_server.h"

#include <unistd.h>

#include <array>

namespace opdump {

Result<LineServer> LineServer::start(const std::vector<std::string>& command) {
  OPDUMP_TRY(auto servers, start(command, 1));
  return std::move(servers.front());
}

Result<std::vector<LineServer>> LineServer::start(const std::vector<std::string>& command,
                                                  std::size_t count) {
  constexpr std::array kPlaces{STDIN_FILENO, STDOUT_FILENO};
  constexpr std::array kFurther{3, 4, 5, 6, 7, 8, 9};
  OPDUMP_TRY(auto children, ConnectedChild::start(command, kPlaces, std::span(kFurther).first(count - 1)));
  std::vector<LineServer> servers;
  for (ConnectedChild& child : children) servers.push_back(LineServer(std::move(child), command.front()));
  return servers;
}

Result<std::string> LineServer::ask(std::string line) {
  line += '\n';
  const auto ended = [&] {
    const std::string how = child_.how_it_ended();
    return Error(Code::internal, name_ + " ended before it answered" + (how.empty() ? "" : ": " + how));
  };
  if (!child_.send(line)) return ended();
  for (std::size_t looked = 0;;) {
    if (const std::size_t end = received_.find('\n', looked); end != std::string::npos) {
      std::string answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      return answer;
    }
    looked = received_.size();
    if (looked > kMaxAnswer) return Error(Code::limit, name_ + ": an answer is too long");
    std::array<char, 1 << 16> buffer{};
    const std::size_t n = child_.receive(buffer);
    if (n == 0) return ended();
    received_.append(buffer.data(), n);
  }
}

}  // namespace opdump
