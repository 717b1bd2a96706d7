// Which dump is on, and the recordings that make it: one for each device that runs something, opened when it
// first does. Models keep the dump under which they were loaded (cann.md 2.1).
#pragma once

#include <acl/acl_base.h>
#include <acl/acl_dump.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "opdump/opdump.h"

namespace opdump::acl {

using DumpCallback = int32_t (*)(const acldumpChunk*, int32_t);

// A dump: a configuration, and where its files go.
class Dump {
 public:
  Dump(std::string path, std::string text, DumpCallback callback)
      : path_(std::move(path)), text_(std::move(text)), callback_(callback) {}
  ~Dump() { close(); }

  // Calls `body` with the session of `device`, null if nothing is dumped; one call at a time.
  template <typename F>
  auto with_session(std::int32_t device, F&& body) {
    const std::lock_guard lock(mutex_);
    return body(find_session(device));
  }

  // Waits until everything is on disk; nothing is dumped any more.
  void close();

  // Whether the configuration is right. Nothing is created.
  aclError check() const;

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }

 private:
  opdump_session* find_session(std::int32_t device);

  std::string path_, text_;
  DumpCallback callback_;
  std::mutex mutex_;  // guards the rest
  bool closed_ = false;
  std::map<std::int32_t, opdump_session*> sessions_;
};

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
  // The configuration's text; empty if there is none.
  std::string config_text();

 private:
  aclError read_config(const char* path, std::string& text);
  aclError switch_to(std::string path, std::string text);

  std::mutex mutex_;  // guards the rest
  bool initialised_ = false;
  bool dumping_ = false;     // between InitDump and FinalizeDump
  bool configured_ = false;  // by aclInit
  DumpCallback callback_ = nullptr;
  std::shared_ptr<Dump> dump_;
  std::shared_ptr<Dump> before_arguments_;  // what was on before aclopStartDumpArgs
  bool dumps_arguments_ = false;
};

}  // namespace opdump::acl
