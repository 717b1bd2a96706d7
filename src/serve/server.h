// A web server for one person: on the loopback interface only, for who knows its token. Only server.cc knows
// the library behind it; no_server.cc takes its place where that is not installed.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"

namespace opdump::serve {

struct PageRequest {
  std::string path;                          // "/api/data"
  std::map<std::string, std::string> query;  // without the token
};

struct PageAnswer {
  std::string type;  // "text/html; charset=utf-8"
  std::string body;
  bool is_deflated = false;  // by zlib
};

// Several requests are answered at once. An error is shown with a status that fits its code.
using AnswerPage = std::function<Result<PageAnswer>(const PageRequest& request)>;

// Serves on 127.0.0.1 until the process ends. `port` 0: any that is free. `started` gets the address, with
// the token, once requests are answered. Only requests with the token (from the system's random numbers) and
// a Host of the loopback interface are: another page in the same browser, or another user, gets nothing.
// Errors: io -- the port cannot be used; unsupported -- built without a server.
Result<> serve_pages(int port, const AnswerPage& answer,
                     const std::function<void(const std::string& address)>& started);

}  // namespace opdump::serve
