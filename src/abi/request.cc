// The C door to configurations made of options.
#include "dialect/request.h"

#include <string>
#include <utility>

#include "abi/call.h"
#include "dialect/opdump_settings.h"
#include "dump/write/budget.h"
#include "opdump/opdump.h"

namespace {

using opdump::Code;
using opdump::Error;
using opdump::Result;

std::string or_empty(const char* text) { return text ? text : ""; }

Result<> make_config(const opdump_request* given, const char** text) {
  if (!given || given->size < sizeof(opdump_request) || !given->output || !text)
    return Error(Code::usage,
                 "opdump_make_config: request (with its size and output) and text must not be NULL");
  const opdump::dialect::Request request{.output = given->output,
                                         .steps = or_empty(given->steps),
                                         .ops = or_empty(given->ops),
                                         .module = or_empty(given->module),
                                         .budget = or_empty(given->budget),
                                         .tensors = (given->content & OPDUMP_CONTENT_TENSORS) != 0,
                                         .statistics = (given->content & OPDUMP_CONTENT_STATISTICS) != 0};
  thread_local std::string config;
  OPDUMP_TRY(config, opdump::dialect::make_config(request));
  OPDUMP_TRY(const std::uint64_t budget,
             opdump::dialect::parse_budget(request.budget.empty() ? "auto" : request.budget));
  if (auto checked = opdump::dump::check_budget(budget, request.output); !checked)
    return Error(Code::config, checked.error().message());
  *text = config.c_str();
  return opdump::ok();
}

}  // namespace

opdump_status opdump_make_config(const opdump_request* request, const char** text) {
  return opdump::abi::call([&] { return make_config(request, text); });
}
