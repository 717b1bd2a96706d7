// acl.h and acl_dump.h, and the dump half of acl_mdl.h and acl_op.h: check, call.
#include <acl/acl.h>
#include <acl/acl_dump.h>

#include <cstring>

#include "dump_control.h"
#include "exception_info.h"
#include "failure.h"
#include "runtime.h"

using opdump::acl::current_device;
using opdump::acl::DumpControl;
using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::guarded;

namespace {

aclError fail_without_exceptions(const char* function) {
  return fail(ACL_ERROR_FAILURE, std::string("EP0008: ") + function + " without an exception dump");
}

}  // namespace

aclError aclInit(const char* path) {
  return guarded([&] { return DumpControl::instance().initialise(path); });
}

aclError aclFinalize(void) {
  return guarded([] { return DumpControl::instance().finalise(); });
}

aclError aclmdlInitDump(void) {
  return guarded([] { return DumpControl::instance().init_dump(); });
}

aclError aclmdlSetDump(const char* path) {
  return guarded([&] { return DumpControl::instance().set_dump(path); });
}

aclError aclmdlFinalizeDump(void) {
  return guarded([] { return DumpControl::instance().finalise_dump(); });
}

aclError acldumpRegCallback(int32_t (*const callback)(const acldumpChunk*, int32_t), int32_t flag) {
  if (!callback) return fail(ACL_ERROR_FAILURE, "EP0007: acldumpRegCallback: messageCallback is NULL");
  if (flag != 0)
    return fail(ACL_ERROR_FAILURE,
                "EP0006: acldumpRegCallback: flag is " + std::to_string(flag) + "; expected 0");
  return guarded([&] { return DumpControl::instance().set_callback(callback); });
}

void acldumpUnregCallback(void) {
  guarded([] {
    DumpControl::instance().clear_callback();
    return ACL_SUCCESS;
  });
}

const char* acldumpGetPath(acldumpType type) {
  thread_local std::string path;
  const aclError code = guarded([&] {
    const auto dump = DumpControl::instance().current();
    const bool fits =
        dump && (type == DATA_DUMP || type == OVERFLOW_DUMP ? !dump->is_exception() : dump->is_exception());
    const bool is_known = type >= AIC_ERR_BRIEF_DUMP && type <= OVERFLOW_DUMP;
    path = fits && is_known ? dump->directory(current_device()) : "";
    return ACL_SUCCESS;
  });
  return code == ACL_SUCCESS && !path.empty() ? path.c_str() : nullptr;
}

aclError acldumpGetExceptionInfoPath(char* path, size_t size) {
  if (!path) return fail_null("acldumpGetExceptionInfoPath", "path");
  if (size <= 1)
    return fail(ACL_ERROR_INVALID_PARAM, "EP0006: acldumpGetExceptionInfoPath: maxLen is " +
                                             std::to_string(size) + "; expected more than 1");
  return guarded([&] {
    const auto dump = DumpControl::instance().current();
    if (!dump || !dump->is_exception()) return fail_without_exceptions("acldumpGetExceptionInfoPath");
    const std::string text = dump->directory(current_device());
    if (text.size() >= size)
      return fail(ACL_ERROR_INVALID_PARAM, "EP0006: acldumpGetExceptionInfoPath: maxLen is " +
                                               std::to_string(size) + "; the path needs " +
                                               std::to_string(text.size() + 1));
    std::memcpy(path, text.c_str(), text.size() + 1);
    return ACL_SUCCESS;
  });
}

aclError acldumpSaveExceptionInfo(const char* name, const char* tag, const acldumpTensorInfo* tensors,
                                  size_t count) {
  return guarded([&] {
    if (const aclError code = opdump::acl::check_exception_name(name); code != ACL_SUCCESS) return code;
    if (!tensors) return fail_null("acldumpSaveExceptionInfo", "tensors");
    if (count == 0)
      return fail(ACL_ERROR_INVALID_PARAM, "EP0006: acldumpSaveExceptionInfo: there are 0 tensors");
    const auto dump = DumpControl::instance().current();
    if (!dump || !dump->is_exception()) return fail_without_exceptions("acldumpSaveExceptionInfo");
    return opdump::acl::save_exception_info(dump->directory(current_device()), name, tag ? tag : "",
                                            {tensors, count});
  });
}

aclError aclopStartDumpArgs(uint32_t type, const char* path) {
  if (!path) return fail(ACL_ERROR_FAILURE, "EP0007: aclopStartDumpArgs: path is NULL");
  if ((type & ACL_OP_DUMP_OP_AICORE_ARGS) == 0)
    return fail(ACL_ERROR_FAILURE,
                "EP0006: aclopStartDumpArgs: dumpType is " + std::to_string(type) + "; expected 1");
  return guarded([&] { return DumpControl::instance().start_arguments(path); });
}

// Other types have nothing that could be stopped.
aclError aclopStopDumpArgs(uint32_t type) {
  if ((type & ACL_OP_DUMP_OP_AICORE_ARGS) == 0) return ACL_SUCCESS;
  return guarded([] { return DumpControl::instance().stop_arguments(); });
}
