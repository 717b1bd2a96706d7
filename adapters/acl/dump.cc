// acl.h and acl_dump.h, and the dump half of acl_mdl.h and acl_op.h: check, call.
#include <acl/acl.h>
#include <acl/acl_dump.h>

#include <nlohmann/json.hpp>

#include "dump_control.h"
#include "failure.h"

using opdump::acl::DumpControl;
using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::guarded;

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

namespace {

// What a configuration dumps, as acldumpType numbers it; 0 for nothing.
int dump_type_of(const nlohmann::json& dump) {
  const auto text = [&](const char* key) {
    return dump.contains(key) && dump[key].is_string() ? dump[key].get<std::string>() : std::string();
  };
  const std::string scene = text("dump_scene");
  if (scene == "lite_exception" || scene == "aic_err_brief_dump") return AIC_ERR_BRIEF_DUMP;
  if (scene == "aic_err_norm_dump") return AIC_ERR_NORM_DUMP;
  if (scene == "aic_err_detail_dump") return AIC_ERR_DETAIL_DUMP;
  if (text("dump_debug") == "on") return OVERFLOW_DUMP;
  return DATA_DUMP;
}

}  // namespace

const char* acldumpGetPath(acldumpType type) {
  thread_local std::string path;
  const aclError code = guarded([&] {
    path.clear();
    const auto config = nlohmann::json::parse(DumpControl::instance().config_text(), nullptr, false, true);
    if (!config.is_object() || !config.contains("dump") || !config["dump"].is_object()) return ACL_SUCCESS;
    const nlohmann::json& dump = config["dump"];
    if (dump_type_of(dump) == type && dump.contains("dump_path") && dump["dump_path"].is_string())
      path = dump["dump_path"].get<std::string>();
    return ACL_SUCCESS;
  });
  return code == ACL_SUCCESS && !path.empty() ? path.c_str() : nullptr;
}

aclError aclopStartDumpArgs(uint32_t type, const char* path) {
  if (type != ACL_OP_DUMP_OP_AICORE_ARGS)
    return fail(ACL_ERROR_INVALID_PARAM, "EP0006: aclopStartDumpArgs: dumpType is " + std::to_string(type));
  if (!path) return fail_null("aclopStartDumpArgs", "path");
  return guarded([&] { return DumpControl::instance().start_arguments(path); });
}

aclError aclopStopDumpArgs(uint32_t type) {
  if (type != ACL_OP_DUMP_OP_AICORE_ARGS)
    return fail(ACL_ERROR_INVALID_PARAM, "EP0006: aclopStopDumpArgs: dumpType is " + std::to_string(type));
  return guarded([] { return DumpControl::instance().stop_arguments(); });
}
