// How a call fails: a code for the program, and a text for the thread (aclGetRecentErrMsg).
#pragma once

#include <acl/acl_base.h>

#include <exception>
#include <string>

namespace opdump::acl {

// Keeps `text` for the thread and returns `code`.
aclError fail(aclError code, const std::string& text);

// opdump_options.log of everything here: a line on stderr.
void write_log(void* user, int level, const char* line);

// The most frequent mistakes.
aclError fail_null(const char* function, const char* argument);

// Calls `body`; what the standard library throws (out of memory) ends here.
template <typename F>
aclError guarded(F&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ACL_ERROR_BAD_ALLOC, "out of memory");
  } catch (const std::exception& error) {
    return fail(ACL_ERROR_INTERNAL_ERROR, error.what());
  }
}

}  // namespace opdump::acl
