// This file replaces server.cc where cpp-httplib was not found when opdump was built.
#include "serve/server.h"

namespace opdump::serve {

Result<> serve_pages(int, const AnswerPage&, const std::function<void(const std::string&)>&) {
  return Error(Code::unsupported,
               "this opdump was built without a web server: install libcpp-httplib-dev and build again");
}

}  // namespace opdump::serve
