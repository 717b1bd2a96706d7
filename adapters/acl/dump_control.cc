#include "dump_control.h"

#include <nlohmann/json.hpp>

#include "failure.h"

namespace opdump::acl {
namespace {

// With a callback and no configuration everything is dumped (cann.md 2.1).
constexpr const char* kEverything = R"({"dump":{"dump_path":"./","dump_list":[{}]}})";

void close(std::shared_ptr<Dump>& dump) {
  if (dump) dump->close();
  dump.reset();
}

}  // namespace

DumpControl& DumpControl::instance() {
  static auto* control = new DumpControl;  // never destroyed: threads may outlive static objects
  return *control;
}

bool DumpControl::is_initialised() {
  const std::lock_guard lock(mutex_);
  return initialised_;
}

// The dump of SetDump or of a callback, in place of the one before.
aclError DumpControl::switch_to(const char* path, const char* text) {
  std::shared_ptr<Dump> next;
  if (const aclError code =
          text ? Dump::make(path, text, callback_, next) : Dump::read(path, callback_, next);
      code != ACL_SUCCESS)
    return code;
  close(dump_);
  dump_ = std::move(next);
  return ACL_SUCCESS;
}

aclError DumpControl::initialise(const char* path) {
  const std::lock_guard lock(mutex_);
  if (initialised_) return fail(ACL_ERROR_REPEAT_INITIALIZE, "EP0008: aclInit is called a second time");
  const aclError code = path && *path ? Dump::read(path, callback_, configured_)
                                      : Dump::make("the environment", "{}", callback_, configured_);
  initialised_ = code == ACL_SUCCESS;
  return code;
}

aclError DumpControl::finalise() {
  const std::lock_guard lock(mutex_);
  if (!initialised_) return fail(ACL_ERROR_REPEAT_FINALIZE, "EP0008: aclFinalize without aclInit");
  for (std::shared_ptr<Dump>* dump : {&arguments_, &dump_, &configured_}) close(*dump);
  initialised_ = dumping_ = false;
  callback_ = nullptr;
  return ACL_SUCCESS;
}

aclError DumpControl::init_dump() {
  const std::lock_guard lock(mutex_);
  if (!initialised_) return fail(ACL_ERROR_UNINITIALIZE, "EP0008: aclmdlInitDump before aclInit");
  if (configured_ && !configured_->is_exception())
    return fail(ACL_ERROR_DUMP_ALREADY_RUN, "EP0008: aclInit's configuration has a dump already");
  if (dumping_) return fail(ACL_ERROR_REPEAT_INITIALIZE, "EP0008: aclmdlInitDump is called a second time");
  dumping_ = true;
  return callback_ ? switch_to("callback", kEverything) : ACL_SUCCESS;
}

aclError DumpControl::set_dump(const char* path) {
  const std::lock_guard lock(mutex_);
  if (!path) return fail_null("aclmdlSetDump", "dumpCfgPath");
  if (!initialised_) return fail(ACL_ERROR_UNINITIALIZE, "EP0008: aclmdlSetDump before aclInit");
  if (!dumping_) return fail(ACL_ERROR_DUMP_NOT_RUN, "EP0008: aclmdlSetDump without aclmdlInitDump");
  return switch_to(path, nullptr);
}

aclError DumpControl::finalise_dump() {
  const std::lock_guard lock(mutex_);
  if (!initialised_) return fail(ACL_ERROR_UNINITIALIZE, "EP0008: aclmdlFinalizeDump before aclInit");
  if (!dumping_) return fail(ACL_ERROR_DUMP_NOT_RUN, "EP0008: aclmdlFinalizeDump without aclmdlInitDump");
  dumping_ = false;
  close(dump_);
  return ACL_SUCCESS;
}

// The callback may come before or after the configuration.
aclError DumpControl::set_callback(DumpCallback callback) {
  const std::lock_guard lock(mutex_);
  callback_ = callback;
  for (const auto& dump : {arguments_, dump_, configured_})
    if (dump) dump->set_callback(callback);
  return dumping_ && !dump_ ? switch_to("callback", kEverything) : ACL_SUCCESS;
}

void DumpControl::clear_callback() {
  const std::lock_guard lock(mutex_);
  callback_ = nullptr;
  if (dump_ && dump_->text() == kEverything) close(dump_);
  for (const auto& dump : {arguments_, dump_, configured_})
    if (dump) dump->set_callback(nullptr);
}

aclError DumpControl::start_arguments(const char* path) {
  const std::lock_guard lock(mutex_);
  if (arguments_) return fail(ACL_ERROR_FAILURE, "EP0008: aclopStartDumpArgs is called a second time");
  const nlohmann::json config{{"dump",
                               {{"dump_path", path},
                                {"dump_mode", "all"},
                                {"dump_op_switch", "on"},
                                {"dump_list", nlohmann::json::array()}}}};
  return Dump::make("aclopStartDumpArgs", config.dump(), callback_, arguments_);
}

aclError DumpControl::stop_arguments() {
  const std::lock_guard lock(mutex_);
  if (!arguments_) return fail(ACL_ERROR_FAILURE, "EP0008: aclopStopDumpArgs without aclopStartDumpArgs");
  close(arguments_);
  return ACL_SUCCESS;
}

std::shared_ptr<Dump> DumpControl::current() {
  const std::lock_guard lock(mutex_);
  return arguments_ ? arguments_ : dump_ ? dump_ : configured_;
}

}  // namespace opdump::acl
