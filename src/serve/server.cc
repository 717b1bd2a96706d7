#include "serve/server.h"

#include <httplib.h>
#include <sys/random.h>

#include <array>

namespace opdump::serve {
namespace {

Result<std::string> make_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Error(Code::io, "the system has no random numbers");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return token;
}

// In a time that does not depend on where they differ.
bool are_equal(const std::string& a, const std::string& b) {
  unsigned difference = a.size() != b.size();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

// A name that an attacker's name server leads to 127.0.0.1 is another Host.
bool is_local_host(const std::string& host, int port) {
  const std::string number = ":" + std::to_string(port);
  return host == "127.0.0.1" + number || host == "localhost" + number;
}

int status_of(Code code) {
  switch (code) {
    case Code::usage:
      return 400;
    case Code::not_found:
      return 404;
    default:
      return 500;
  }
}

void refuse(httplib::Response& response, int status, const std::string& why) {
  response.status = status;
  response.set_content(why + "\n", "text/plain; charset=utf-8");
}

void answer_one(const httplib::Request& request, httplib::Response& response, const std::string& token,
                int port, const AnswerPage& answer) {
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cache-Control", "no-store");
  response.set_header("Cross-Origin-Resource-Policy", "same-origin");
  response.set_header("X-Frame-Options", "DENY");
  if (!is_local_host(request.get_header_value("Host"), port)) return refuse(response, 403, "another host");
  if (!are_equal(request.get_param_value("token"), token))
    return refuse(response, 403, "the address lacks the token that opdump view has printed");
  PageRequest wanted{request.path, {}};
  for (const auto& [name, value] : request.params)
    if (name != "token") wanted.query.emplace(name, value);
  auto answered = answer(wanted);
  if (!answered) return refuse(response, status_of(answered.error().code()), answered.error().message());
  if (answered->is_deflated) response.set_header("Content-Encoding", "deflate");
  // As a provider, because the library compresses what it is given at once, and slowly: half a second for a
  // page.
  const auto body = std::make_shared<const std::string>(std::move(answered->body));
  if (body->empty()) return response.set_content("", answered->type);
  response.set_content_provider(body->size(), answered->type,
                                [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                  return sink.write(body->data() + offset, length);
                                });
}

}  // namespace

Result<> serve_pages(int port, const AnswerPage& answer,
                     const std::function<void(const std::string& address)>& started) {
  OPDUMP_TRY(const std::string token, make_token());
  httplib::Server server;
  int bound = port;
  server.set_payload_max_length(0);
  server.set_tcp_nodelay(true);  // else the body of an answer waits until its head has been acknowledged
  server.Get(".*", [&](const httplib::Request& request, httplib::Response& response) {
    answer_one(request, response, token, bound, answer);
  });
  const std::string host = "127.0.0.1";
  if (port == 0)
    bound = server.bind_to_any_port(host);
  else if (!server.bind_to_port(host, port))
    bound = -1;
  if (bound <= 0)
    return Error(Code::io, "port " + std::to_string(port) + " of " + host + " cannot be used: is it taken?");
  started("http://" + host + ":" + std::to_string(bound) + "/?token=" + token);
  if (!server.listen_after_bind()) return Error(Code::io, "the server ended");
  return ok();
}

}  // namespace opdump::serve
