// What a program saves of its own when something failed (acldumpSaveExceptionInfo): a file as an operator's
// dump is one, cann.md 3.1, with the tag as an attribute "user_tag".
#pragma once

#include <acl/acl_dump.h>

#include <span>
#include <string>

namespace opdump::acl {

// A path below a directory. Fails with ACL_ERROR_INVALID_PARAM for NULL, "", "/..." and "..".
aclError check_exception_name(const char* name);

// Writes {directory}{name}.custom.{local time to the millisecond} with missing directories, 0600 and 0700.
// Fails with ACL_ERROR_INVALID_PARAM for tensors that are not described as they should, ACL_ERROR_FAILURE if
// the file cannot be written.
aclError save_exception_info(const std::string& directory, const std::string& name, const std::string& tag,
                             std::span<const acldumpTensorInfo> tensors);

}  // namespace opdump::acl
