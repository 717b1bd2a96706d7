// Which dump is on. Models keep the dump under which they were loaded (cann.md 2.1).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "dump.h"

namespace opdump::acl {

// The process's. Every function is thread-safe.
class DumpControl {
 public:
  static DumpControl& instance();

  bool is_initialised();
  aclError initialise(const char* path);  // aclInit
  aclError finalise();

  aclError init_dump();
  aclError set_dump(const char* path);
  aclError finalise_dump();
  aclError set_callback(DumpCallback callback);
  void clear_callback();
  aclError start_arguments(const char* path);
  aclError stop_arguments();

  // The dump that is on; null if there is none.
  std::shared_ptr<Dump> current();

 private:
  aclError switch_to(const char* path, const char* text);

  std::mutex mutex_;  // guards the rest
  bool initialised_ = false;
  bool dumping_ = false;  // between InitDump and FinalizeDump
  DumpCallback callback_ = nullptr;
  // The last that there is counts: of aclInit or the environment; of SetDump or a callback; of
  // aclopStartDumpArgs.
  std::shared_ptr<Dump> configured_, dump_, arguments_;
};

}  // namespace opdump::acl
